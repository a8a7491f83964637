"""A transformers Trainer with a tiny BERT: hf.py CASE FOLDER."""
import os
import sys

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments

from truth import Tokens, TokenStream, Truth, kill

CASES = {
    # 10 batches of 4, without the last 2 examples where drop_last is set.
    "plain": dict(num_train_epochs=3),
    "accumulation": dict(num_train_epochs=3, gradient_accumulation_steps=4),
    "eval_epoch": dict(num_train_epochs=3, eval_strategy="epoch"),
    "eval_steps": dict(num_train_epochs=3, eval_strategy="steps", eval_steps=4),
    "eval_on_start": dict(num_train_epochs=2, eval_strategy="epoch", eval_on_start=True),
    "save": dict(num_train_epochs=3, save_strategy="steps", save_steps=7),
    "save_epoch_eval": dict(num_train_epochs=2, save_strategy="epoch", eval_strategy="epoch", gradient_accumulation_steps=2),
    "iterable": dict(max_steps=25),
    "max_steps": dict(max_steps=17),
    "drop_last": dict(num_train_epochs=3, dataloader_drop_last=True),
    "workers": dict(num_train_epochs=3, dataloader_num_workers=2, eval_strategy="epoch"),
    "persistent": dict(num_train_epochs=3, dataloader_num_workers=2, dataloader_persistent_workers=True, eval_strategy="epoch"),
    "final_evaluate": dict(num_train_epochs=2, eval_strategy="epoch"),
    "killed": dict(num_train_epochs=3, eval_strategy="epoch"),
    "killed_last": dict(num_train_epochs=3),
    "killed_first": dict(num_train_epochs=3),
    "killed_eval": dict(num_train_epochs=3, eval_strategy="epoch"),
    "save_eval_steps": dict(num_train_epochs=3, eval_strategy="steps", eval_steps=3, save_strategy="steps", save_steps=3,
                            gradient_accumulation_steps=2),
    "leftover": dict(num_train_epochs=3, gradient_accumulation_steps=3, eval_strategy="epoch"),
    "resume": dict(num_train_epochs=3, save_strategy="steps", save_steps=14, eval_strategy="epoch"),
}
KILLED_IN_FORWARD = {"killed": 24, "killed_last": 29, "killed_first": 0}  # steps that had ended


class Count(TrainerCallback):
    def __init__(self, truth, is_stream):
        self.truth, self.is_stream = truth, is_stream

    def on_step_end(self, args, state, control, **kwargs):
        self.truth.add("steps")

    def on_epoch_end(self, args, state, control, **kwargs):
        # max_steps may end the training inside an epoch, which calls this too; a stream has no length to count epochs by.
        passes = state.global_step / 10 if self.is_stream else state.epoch
        if abs(passes - round(passes)) < 1e-9:
            self.truth.add("epochs")

    def on_evaluate(self, args, state, control, **kwargs):
        self.truth.add("evaluations")

    def on_save(self, args, state, control, **kwargs):
        self.truth.add("checkpoints")


def make(case, folder, truth, examples=40):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = BertForSequenceClassification(BertConfig(
        hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64, vocab_size=100, max_position_embeddings=32))
    settings = dict(save_strategy="no", eval_strategy="no", report_to=[], logging_strategy="no", disable_tqdm=True, use_cpu=True)
    settings.update(CASES[case])
    arguments = TrainingArguments(output_dir=folder, per_device_train_batch_size=4, per_device_eval_batch_size=4, **settings)
    if case == "drop_last":
        examples = 42
    data = TokenStream(examples) if case == "iterable" else Tokens(examples)
    return Trainer(model=model, args=arguments, train_dataset=data, eval_dataset=Tokens(12), callbacks=[Count(truth, case == "iterable")])


def main():
    case, folder = sys.argv[1], sys.argv[2]
    if case == "make_checkpoint":
        make("resume", folder, Truth()).train()
        return
    truth = Truth()
    trainer = make(case, folder, truth)
    if case in KILLED_IN_FORWARD:
        at = KILLED_IN_FORWARD[case]
        trainer.model.register_forward_hook(
            lambda module, inputs, output: kill() if truth.counts["steps"] == at and module.training else None)
    if case == "killed_eval":
        trainer.model.register_forward_hook(
            lambda module, inputs, output: kill() if truth.counts["steps"] == 20 and not module.training else None)
        # The second evaluation has begun and is seen, although the program never counts it.
    trainer.train(resume_from_checkpoint=os.path.join(folder, "checkpoint-14") if case == "resume" else None)
    if case == "final_evaluate":
        trainer.evaluate()


main()
