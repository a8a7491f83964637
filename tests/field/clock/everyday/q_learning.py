"""gymnasium: a Q network in numpy on Acrobot; transitions in a list, a deque of 2,000, or not at all. ok|leak|deque"""
import sys
import collections
import random
import gymnasium
import numpy as np

kind = sys.argv[1]
random.seed(0)
rng = np.random.default_rng(0)
environment = gymnasium.make("Acrobot-v1")
memory = collections.deque(maxlen=2000) if kind == "deque" else []
weights = rng.random((6, 3)) * 0.1
steps = 0
for episode in range(60):
    state, _ = environment.reset(seed=episode)
    for t in range(200):
        action = int(np.argmax(state @ weights)) if random.random() > 0.3 else random.randrange(3)
        following, reward, ended, cut, _ = environment.step(action)  # HOLD
        if kind != "ok":
            memory.append((state, action, reward, following.copy()))  # HOLD
        target = reward + 0.9 * np.max(following @ weights)
        weights[:, action] += 1e-3 * (target - state @ weights[:, action]) * state
        state = following
        steps += 1
        if ended or cut:
            break
print("COUNT episodes=60 steps=%d" % steps)
