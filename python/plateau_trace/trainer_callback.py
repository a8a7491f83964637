"""Marks for the Hugging Face Trainer, and what Plateau says in the Trainer's own log.

    from plateau_trace.trainer_callback import PlateauCallback
    trainer = Trainer(..., callbacks=[PlateauCallback()])

Every line that the Trainer logs (to TensorBoard, Weights & Biases, MLflow, its history) then has plateau/live_mib, plateau/rss_mib,
plateau/growth_kib_per_step, plateau/tensors and plateau/severity (0 fine, 1 bounded, 2 undecided, 3 grows without an end), as of the last reading;
see plateau_trace.live. PlateauCallback(log=False) only marks.

PlateauCallback(save_on_usr1=True) answers SIGUSR1, as `plateau run --stop-before-oom` sends it, with a checkpoint of the Trainer and the end of the
training; trainer.train(resume_from_checkpoint=True) goes on from there.

transformers is imported when PlateauCallback is first asked for, so importing this module needs nothing.
"""
import signal
import sys

from plateau_trace import mark
from plateau_trace.live import LiveReport

_class = None


def _make():
    from transformers import TrainerCallback

    class PlateauCallback(TrainerCallback):
        """Steps, epochs, evaluations and checkpoints as Plateau marks, and numbers for the log. Changes nothing in the training, unless it was asked
        to save on SIGUSR1."""

        def __init__(self, log=True, interval=30.0, save_on_usr1=False):
            self._evaluation = None
            self._save_on_usr1 = save_on_usr1
            self._is_told_to_save = False
            self._earlier_handler = None
            self.report = LiveReport(interval) if log else None

        def on_train_begin(self, args, state, control, **kwargs):
            self._come_first()
            if self._save_on_usr1:
                self._earlier_handler = signal.signal(signal.SIGUSR1, self._on_usr1)
            mark.note("Trainer: batch %s x accumulation %s" % (
                getattr(args, "per_device_train_batch_size", "?"), getattr(args, "gradient_accumulation_steps", "?")))

        def on_step_begin(self, args, state, control, **kwargs):
            self._end_evaluation()

        def on_step_end(self, args, state, control, **kwargs):
            mark.step()
            if self.report is not None:
                self.report.poll()
            if self._is_told_to_save:
                self._is_told_to_save = False
                control.should_save = control.should_training_stop = True

        def on_log(self, args, state, control, logs=None, **kwargs):
            if self.report is not None and logs is not None:
                if "train_runtime" in logs:  # the last line of a run has its last word
                    self.report.wait()
                logs.update(self.report.metrics())
                if state.log_history and logs is not state.log_history[-1]:
                    state.log_history[-1].update(self.report.metrics())

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
            if self._earlier_handler is not None:
                signal.signal(signal.SIGUSR1, self._earlier_handler)
                self._earlier_handler = None

        def _on_usr1(self, _number, _frame):
            self._is_told_to_save = True  # by the end of this step

        def _come_first(self):
            """Before the callbacks that write the log, which look at the same dictionary: they stand in front of a user's. The handler that calls
            us is the caller of our caller; where it is not, the numbers are in the Trainer's history alone."""
            frame = sys._getframe(1)
            for _ in range(4):
                frame = frame.f_back
                if frame is None:
                    return
                callbacks = getattr(frame.f_locals.get("self"), "callbacks", None)
                if isinstance(callbacks, list) and self in callbacks:
                    # A new list: the old one is being walked through.
                    frame.f_locals["self"].callbacks = [self] + [callback for callback in callbacks if callback is not self]
                    return

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
