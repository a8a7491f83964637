"""A GAN: two optimizers of one class take turns, three backward passes to an iteration.

Expected verdict: steady
"""

import torch
from support import Features, Truth
from torch import nn
from torch.utils.data import DataLoader

truth = Truth()
generator = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64))
critic = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
generator_optimizer = torch.optim.Adam(generator.parameters())
critic_optimizer = torch.optim.Adam(critic.parameters())
judge = nn.functional.binary_cross_entropy_with_logits
loader = DataLoader(Features(960), batch_size=16, shuffle=True)

for epoch in range(3):
    for real, labels in loader:
        real_label = torch.ones(len(real), 1)
        critic_optimizer.zero_grad()
        judge(critic(real), real_label).backward()
        fake = generator(torch.randn(len(real), 16))
        judge(critic(fake.detach()), 1 - real_label).backward()
        critic_optimizer.step()

        generator_optimizer.zero_grad()
        judge(critic(fake), real_label).backward()
        generator_optimizer.step()
        truth.steps += 1
    truth.epochs += 1

truth.print()
