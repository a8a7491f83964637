"""Lightning: lit.py CASE FOLDER."""
import logging
import os
import sys
import warnings

import lightning.pytorch as pl
import torch
from torch.utils.data import DataLoader

from truth import Stream, Truth, Vectors, classifier, kill

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
case, folder = sys.argv[1], sys.argv[2]
truth = Truth()


class Module(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = classifier()
        self.automatic_optimization = case != "manual"

    def loss_of(self, batch):
        if isinstance(batch, (list, tuple)) and len(batch) == 2 and isinstance(batch[0], (list, tuple)):
            return self.loss_of(batch[0]) + self.loss_of(batch[1])
        x, y = batch
        return torch.nn.functional.cross_entropy(self.model(x), y)

    def training_step(self, batch, index):
        loss = self.loss_of(batch)
        if not self.automatic_optimization:
            optimizer = self.optimizers()
            optimizer.zero_grad()
            self.manual_backward(loss)
            optimizer.step()
        if case == "killed_last" and truth.counts["steps"] == 29:
            kill()
        return loss

    def validation_step(self, batch, index, dataloader_idx=0):
        if case == "killed_validation" and truth.counts["evaluations"] == 1 and index == 2:
            truth.add("evaluations")  # it has begun,
            truth.add("epochs")  # and all batches of the epoch are trained: Lightning calls it over after the validation
            kill()
        self.loss_of(batch)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


class Count(pl.Callback):
    def on_train_batch_end(self, trainer, *_):
        truth.set(steps=trainer.global_step - (20 if case == "resume" else 0))

    def on_train_epoch_end(self, trainer, module):
        if trainer.is_last_batch:  # max_steps ends the training inside an epoch, which calls this too
            truth.add("epochs")

    def on_validation_end(self, trainer, module):
        if not trainer.sanity_checking:
            truth.add("evaluations")


SETTINGS = {
    "plain": dict(max_epochs=4),
    "accumulation": dict(max_epochs=4, accumulate_grad_batches=4),
    "validation_interval": dict(max_epochs=3, val_check_interval=5),
    "no_sanity": dict(max_epochs=3, num_sanity_val_steps=0),
    "max_steps": dict(max_steps=25, max_epochs=-1),
    "iterable": dict(max_epochs=3),
    "two_loaders": dict(max_epochs=3),
    "two_validations": dict(max_epochs=3),
    "workers": dict(max_epochs=3),
    "killed_last": dict(max_epochs=3),
    "checkpoint": dict(max_epochs=3),
    "val_quarter": dict(max_epochs=3, val_check_interval=0.25),
    "every_second": dict(max_epochs=4, check_val_every_n_epoch=2, accumulate_grad_batches=2),
    "manual": dict(max_epochs=3),
    "killed_validation": dict(max_epochs=3),
    "resume": dict(max_epochs=4),
}[case]
workers = 2 if case == "workers" else 0
train = DataLoader(Stream(40) if case == "iterable" else Vectors(40), batch_size=4, num_workers=workers)
if case == "two_loaders":
    train = [train, DataLoader(Vectors(24), batch_size=4)]
valid = DataLoader(Vectors(16), batch_size=4)
if case == "two_validations":
    valid = [valid, DataLoader(Vectors(8), batch_size=4)]
callbacks = [Count()]
if case == "checkpoint":
    class Saving(pl.callbacks.ModelCheckpoint):
        def _save_checkpoint(self, trainer, path):
            super()._save_checkpoint(trainer, path)
            truth.add("checkpoints")
    callbacks.append(Saving(dirpath=folder, save_top_k=-1))
if case == "resume":
    # A checkpoint of two epochs, made by an earlier process.
    saved = folder + "/saved.ckpt"
    if not os.path.exists(saved):
        trainer = pl.Trainer(accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False,
                             enable_checkpointing=False, max_epochs=2)
        trainer.fit(Module(), train, valid)
        trainer.save_checkpoint(saved)
        sys.exit()
pl.Trainer(accelerator="cpu", logger=False, enable_checkpointing=case == "checkpoint", enable_progress_bar=False,
           enable_model_summary=False, callbacks=callbacks, **SETTINGS).fit(Module(), train, valid,
                                                                            ckpt_path=saved if case == "resume" else None)
