"""Policy gradient on a random walk: episodes of random length gathered into a batch of 10. ok|leak ; 60 updates"""
import random, sys, numpy as np
leak = sys.argv[1] == "leak"; random.seed(9); rng = np.random.default_rng(1); w = np.zeros(64); history = []; steps = 0
def episode():
    global steps
    states, rewards = [], []; s = rng.random(64)
    for t in range(random.randint(10, 80)):
        s = np.tanh(s + 0.1 * rng.standard_normal(64)); states.append(s); rewards.append(float(s @ w > 0)); steps += 1
    return np.stack(states), np.array(rewards)
for update in range(60):
    batch = [episode() for _ in range(10)]
    states = np.concatenate([s for s, _ in batch]); returns = np.concatenate([np.cumsum(r[::-1])[::-1] for _, r in batch])  # HOLD
    w = w + 1e-3 * (returns - returns.mean()) @ states
    if leak: history.append(states)
print("COUNT updates=60 episodes=600 steps=%d" % steps)
