"""Marks for the Hugging Face Trainer.

    from plateau_trace.trainer_callback import PlateauCallback
    trainer = Trainer(..., callbacks=[PlateauCallback()])

transformers is imported when PlateauCallback is first asked for, so importing this module needs nothing.
"""
from plateau_trace import mark

_class = None


def _make():
    from transformers import TrainerCallback

    class PlateauCallback(TrainerCallback):
        """Steps, epochs, evaluations and checkpoints as Plateau marks. Changes nothing in the training."""

        def __init__(self):
            self._evaluation = None

        def on_train_begin(self, args, state, control, **kwargs):
            mark.note("Trainer: batch %s x accumulation %s" % (
                getattr(args, "per_device_train_batch_size", "?"), getattr(args, "gradient_accumulation_steps", "?")))

        def on_step_begin(self, args, state, control, **kwargs):
            self._end_evaluation()

        def on_step_end(self, args, state, control, **kwargs):
            mark.step()

        def on_epoch_end(self, args, state, control, **kwargs):
            mark.epoch()

        def on_prediction_step(self, args, state, control, **kwargs):
            if self._evaluation is None:
                self._evaluation = mark.phase("eval")
                self._evaluation.__enter__()

        def on_evaluate(self, args, state, control, **kwargs):
            self._end_evaluation()

        def on_predict(self, args, state, control, metrics=None, **kwargs):
            self._end_evaluation()

        def on_save(self, args, state, control, **kwargs):
            mark.note("checkpoint saved")

        def on_train_end(self, args, state, control, **kwargs):
            self._end_evaluation()

        def _end_evaluation(self):
            if self._evaluation is not None:
                self._evaluation.__exit__()
                self._evaluation = None

    return PlateauCallback


def __getattr__(name):
    global _class
    if name != "PlateauCallback":
        raise AttributeError("module %r has no attribute %r" % (__name__, name))
    if _class is None:
        _class = _make()
    return _class
