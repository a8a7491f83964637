"""TRL's DPOTrainer, whose reference model answers without gradients in each step: preference.py CASE FOLDER."""
import sys

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast, TrainerCallback
from trl import DPOConfig, DPOTrainer

from truth import Truth

CASES = {
    "plain": dict(num_train_epochs=3),
    "eval": dict(num_train_epochs=2, eval_strategy="epoch", gradient_accumulation_steps=2),
}
truth = Truth()


class Count(TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        truth.add("steps")

    def on_epoch_end(self, args, state, control, **kwargs):
        truth.add("epochs")

    def on_evaluate(self, args, state, control, **kwargs):
        truth.add("evaluations")


torch.set_num_threads(1)
words = ["[PAD]", "[EOS]"] + ["w%d" % i for i in range(98)]
core = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[PAD]"))
core.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, pad_token="[PAD]", eos_token="[EOS]")


def model():
    return GPT2LMHeadModel(GPT2Config(vocab_size=100, n_positions=64, n_embd=32, n_layer=1, n_head=2, bos_token_id=1, eos_token_id=1))


pairs = Dataset.from_dict({
    "prompt": ["w%d w%d w%d" % (i % 98, (i + 1) % 98, (i + 2) % 98) for i in range(40)],
    "chosen": [" w%d w%d" % ((i + 3) % 98, (i + 4) % 98) for i in range(40)],
    "rejected": [" w%d w%d" % ((i + 9) % 98, (i + 5) % 98) for i in range(40)]})
arguments = DPOConfig(output_dir=sys.argv[2], per_device_train_batch_size=4, per_device_eval_batch_size=4, save_strategy="no", report_to=[],
                      logging_strategy="no", disable_tqdm=True, use_cpu=True, bf16=False, gradient_checkpointing=False,
                      **CASES[sys.argv[1]])
DPOTrainer(model=model(), ref_model=model(), args=arguments, train_dataset=pairs, eval_dataset=pairs.select(range(12)),
           processing_class=tokenizer, callbacks=[Count()]).train()
