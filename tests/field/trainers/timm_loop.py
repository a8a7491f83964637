"""timm's own parts in a training loop as its train.py has: timm_loop.py CASE FOLDER."""
import sys

import timm
import torch
from timm.data import create_loader
from timm.optim import create_optimizer_v2
from timm.scheduler import create_scheduler_v2

from truth import Truth

case, folder = sys.argv[1], sys.argv[2]
truth = Truth()
torch.set_num_threads(1)


class Pictures(torch.utils.data.Dataset):
    transform = None

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        from PIL import Image
        picture = Image.new("RGB", (40, 40), (i % 255, 0, 0))
        return (self.transform(picture) if self.transform else picture), i % 2


def loader_of(count, is_training):
    return create_loader(Pictures(count), input_size=(3, 32, 32), batch_size=4, is_training=is_training, use_prefetcher=False,
                         num_workers=2 if case == "workers" else 0, device=torch.device("cpu"), persistent_workers=False)


model = timm.create_model("resnet18", num_classes=2, pretrained=False)
optimizer = create_optimizer_v2(model, opt="adamw", lr=1e-3)
scheduler, epochs = create_scheduler_v2(optimizer, num_epochs=3, sched="cosine")
train, valid = loader_of(42, True), loader_of(12, False)
for epoch in range(3):
    model.train()
    for x, y in train:
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        truth.add("steps")
    truth.add("epochs")
    model.eval()
    with torch.no_grad():
        for x, y in valid:
            model(x)
    truth.add("evaluations")
    scheduler.step(epoch + 1)
    if case == "save":
        torch.save(model.state_dict(), folder + "/last.pth")
        truth.add("checkpoints")
