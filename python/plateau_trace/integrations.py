"""Plateau in the logs of Lightning, Keras and accelerate; plateau_trace.trainer_callback has the one of the Hugging Face Trainer.

    Trainer(callbacks=[LightningCallback()])             # lightning or pytorch_lightning: into its logger
    model.fit(..., callbacks=[KerasCallback()])          # into the logs of each epoch, so into TensorBoard and the history
    tracking = AccelerateLog(accelerator)                # accelerator.log(), whatever trackers it has
    ...; tracking.step(completed_steps)                  # after each step

Live bytes, growth per step, tensors and the verdict (plateau/severity: 0 fine, 1 bounded, 2 undecided, 3 grows without an end) as of the last
reading, see plateau_trace.live. Frameworks are imported when a class is first asked for.
"""
from plateau_trace import mark
from plateau_trace.live import LiveReport

_made = {}


def _lightning():
    try:
        from lightning.pytorch import Callback
    except ImportError:
        from pytorch_lightning import Callback

    class LightningCallback(Callback):
        """Logs what Plateau says to the trainer's loggers, every `every` steps, and once more at the end."""

        def __init__(self, every=10, interval=30.0):
            self.every, self.report = max(1, every), LiveReport(interval)

        def on_train_batch_end(self, trainer, *args, **kwargs):
            self.report.poll()
            if trainer.global_step % self.every == 0:
                self._log(trainer)

        def on_validation_start(self, trainer, *args, **kwargs):
            self._phase = mark.phase("eval")
            self._phase.__enter__()

        def on_validation_end(self, trainer, *args, **kwargs):
            self._phase.__exit__()

        def on_train_end(self, trainer, *args, **kwargs):
            self.report.wait()
            self._log(trainer)

        def _log(self, trainer):
            metrics = self.report.metrics()
            for logger in trainer.loggers if metrics else ():
                logger.log_metrics(metrics, step=trainer.global_step)

    return LightningCallback


def _keras():
    import keras

    class KerasCallback(keras.callbacks.Callback):
        """Adds what Plateau says to the logs of each epoch. Callbacks behind this one (TensorBoard) and the history have it."""

        def __init__(self, interval=30.0):
            super().__init__()
            self.report = LiveReport(interval)

        def on_train_batch_end(self, batch, logs=None):
            self.report.poll()

        def on_epoch_end(self, epoch, logs=None):
            if logs is not None:
                if not self.report.metrics():
                    self.report.wait()
                logs.update(self.report.metrics())

    return KerasCallback


class AccelerateLog:
    """`accelerator.log()` with what Plateau says, every `every` steps."""

    def __init__(self, accelerator, every=10, interval=30.0):
        self.accelerator, self.every, self.report = accelerator, max(1, every), LiveReport(interval)

    def step(self, step):
        self.report.poll()
        if step % self.every == 0:
            self._log(step)

    def end(self, step):
        self.report.wait()
        self._log(step)

    def _log(self, step):
        metrics = self.report.metrics()
        if metrics:
            self.accelerator.log(metrics, step=step)


def __getattr__(name):
    makers = {"LightningCallback": _lightning, "KerasCallback": _keras}
    if name not in makers:
        raise AttributeError("module %r has no attribute %r" % (__name__, name))
    if name not in _made:
        _made[name] = makers[name]()
    return _made[name]
