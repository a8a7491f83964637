"""TRL's SFTTrainer with a tiny GPT-2 and a tokenizer made here: sft.py CASE FOLDER."""
import sys

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast, TrainerCallback
from trl import SFTConfig, SFTTrainer

from truth import Truth, kill

CASES = {
    "plain": dict(num_train_epochs=3),
    "accumulation": dict(num_train_epochs=2, gradient_accumulation_steps=4, eval_strategy="epoch"),
    "eval_steps_save": dict(num_train_epochs=2, eval_strategy="steps", eval_steps=5, save_strategy="steps", save_steps=5),
    "killed": dict(num_train_epochs=3, eval_strategy="epoch"),
}


class Count(TrainerCallback):
    def __init__(self, truth):
        self.truth = truth

    def on_step_end(self, args, state, control, **kwargs):
        self.truth.add("steps")

    def on_epoch_end(self, args, state, control, **kwargs):
        self.truth.add("epochs")

    def on_evaluate(self, args, state, control, **kwargs):
        self.truth.add("evaluations")

    def on_save(self, args, state, control, **kwargs):
        self.truth.add("checkpoints")


def main():
    truth = Truth()
    torch.set_num_threads(1)
    words = ["[PAD]", "[EOS]"] + ["w%d" % i for i in range(98)]
    core = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[PAD]"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, pad_token="[PAD]", eos_token="[EOS]")
    model = GPT2LMHeadModel(GPT2Config(vocab_size=100, n_positions=64, n_embd=32, n_layer=1, n_head=2, bos_token_id=1, eos_token_id=1))
    text = Dataset.from_dict({"text": [" ".join("w%d" % ((i + k) % 98) for k in range(12)) for i in range(40)]})
    arguments = SFTConfig(output_dir=sys.argv[2], per_device_train_batch_size=4, per_device_eval_batch_size=4,
                          report_to=[], logging_strategy="no", disable_tqdm=True, use_cpu=True, bf16=False, max_length=32,
                          gradient_checkpointing=False, **{"save_strategy": "no", **CASES[sys.argv[1]]})
    if sys.argv[1] == "killed":
        model.register_forward_hook(lambda module, inputs, output: kill() if truth.counts["steps"] == 19 and module.training else None)
    SFTTrainer(model=model, args=arguments, train_dataset=text, eval_dataset=text.select(range(12)), processing_class=tokenizer,
               callbacks=[Count(truth)]).train()


main()
