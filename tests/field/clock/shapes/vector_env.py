"""gymnasium: four CartPoles in a SyncVectorEnv, rollouts of 32 steps. ok|leak ; 60 rollouts"""
import sys, numpy as np, gymnasium as gym
leak = sys.argv[1] == "leak"; rollouts = []
env = gym.vector.SyncVectorEnv([lambda: gym.make("CartPole-v1") for _ in range(4)]); o, _ = env.reset(seed=0)
for r in range(60):
    rollout = np.zeros((32, 4, 4 * 16))  # HOLD 64 kB
    for t in range(32):
        o, reward, end, cut, _ = env.step(np.random.randint(0, 2, 4)); rollout[t] = np.tile(o, 16)
    if leak: rollouts.append(rollout)
print("COUNT rollouts=60 steps=1920")
