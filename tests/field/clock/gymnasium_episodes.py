"""gymnasium: episodes of CartPole with a random policy. ok|leak|ring ; 300 episodes"""
import sys, collections, numpy as np, gymnasium as gym
kind = sys.argv[1]; env = gym.make("CartPole-v1"); env.action_space.seed(0)
kept = collections.deque(maxlen=50) if kind == "ring" else []
for episode in range(300):
    o, _ = env.reset(seed=episode); done = False; path = []
    while not done:
        o, r, end, cut, _ = env.step(env.action_space.sample()); path.append(o); done = end or cut
    if kind != "ok": kept.append(np.resize(np.stack(path), (64, 128)))  # HOLD 32 kB
print("COUNT episodes=300")
