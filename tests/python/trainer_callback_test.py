"""The Trainer callback against the event protocol of the Hugging Face Trainer (a stand-in: the library is not here)."""
import os
import signal
import sys
import types
import unittest

sys.path.insert(0, os.path.join(os.environ["PLATEAU_SOURCE"], "python"))
from plateau_trace import mark, trainer_callback  # noqa: E402

EVENTS = ("init_end", "train_begin", "train_end", "epoch_begin", "epoch_end", "step_begin", "substep_end", "step_end",
          "evaluate", "predict", "save", "log", "prediction_step")


class TrainerCallback:
    pass


for _event in EVENTS:
    setattr(TrainerCallback, "on_" + _event, lambda self, args, state, control, **kwargs: None)


class TrainerCallbackTest(unittest.TestCase):
    def setUp(self):
        self.seen = []
        self.saved = dict(mark._recorder)
        for name in ("step", "epoch", "begin", "end", "note"):
            mark._recorder[name] = lambda text, name=name: self.seen.append((name, text))

    def tearDown(self):
        mark._recorder.update(self.saved)
        trainer_callback._class = None  # made of a stand-in

    def test_importing_needs_no_transformers(self):
        self.assertNotIn("transformers", sys.modules)
        with self.assertRaises(ImportError):
            trainer_callback.PlateauCallback
        with self.assertRaises(AttributeError):
            trainer_callback.Missing

    def test_steps_epochs_and_evaluations(self):
        sys.modules["transformers"] = types.SimpleNamespace(TrainerCallback=TrainerCallback)
        try:
            callback = trainer_callback.PlateauCallback()
        finally:
            del sys.modules["transformers"]
        self.assertIsInstance(callback, TrainerCallback)

        def fire(event):
            getattr(callback, "on_" + event)(types.SimpleNamespace(), None, None)
        for event in ("train_begin", "epoch_begin", "step_begin", "substep_end", "step_end", "step_begin", "step_end",
                      "prediction_step", "prediction_step", "evaluate", "save", "epoch_end", "train_end"):
            fire(event)
        self.assertEqual([name for name, _ in self.seen],
                         ["note", "step", "step", "begin", "end", "note", "epoch"])
        self.assertEqual(self.seen[3:5], [("begin", b"eval"), ("end", b"eval")])

    def test_a_signal_saves_and_stops_at_the_end_of_a_step(self):
        sys.modules["transformers"] = types.SimpleNamespace(TrainerCallback=TrainerCallback)
        try:
            silent, callback = trainer_callback.PlateauCallback(log=False), trainer_callback.PlateauCallback(log=False, save_on_usr1=True)
        finally:
            del sys.modules["transformers"]
        control = types.SimpleNamespace(should_save=False, should_training_stop=False)
        before = signal.getsignal(signal.SIGUSR1)
        silent.on_train_begin(types.SimpleNamespace(), None, control)
        self.assertEqual(signal.getsignal(signal.SIGUSR1), before)
        callback.on_train_begin(types.SimpleNamespace(), None, control)
        callback.on_step_end(None, None, control)
        self.assertFalse(control.should_save)
        os.kill(os.getpid(), signal.SIGUSR1)
        callback.on_step_end(None, None, control)
        self.assertTrue(control.should_save and control.should_training_stop)
        callback.on_train_end(None, None, control)
        self.assertEqual(signal.getsignal(signal.SIGUSR1), before)


if __name__ == "__main__":
    unittest.main()
