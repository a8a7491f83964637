"""A callback of the transformers Trainer: `trainer_callback.py KIND`. batches: the collator's batches are kept. gradients: a copy of a gradient at every step. healthy: numbers only."""
import sys
import tempfile

import torch
import transformers

torch.set_num_threads(1)
kind = sys.argv[1]
config = transformers.BertConfig(vocab_size=800, hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=128)
examples = [{"input_ids": torch.randint(0, 800, (64,)), "attention_mask": torch.ones(64, dtype=torch.long), "labels": torch.tensor(i % 2)} for i in range(240)]
stored = []


class Collator:
    def __call__(self, rows):
        batch = transformers.default_data_collator(rows)  # BATCH
        if kind == "batches":
            stored.append(batch)
        return batch


class Watch(transformers.TrainerCallback):
    def on_pre_optimizer_step(self, args, state, control, model=None, **_):
        gradient = model.bert.embeddings.word_embeddings.weight.grad
        if kind == "gradients":
            stored.append(gradient.clone())  # GRADIENT
        elif kind == "healthy":
            stored.append(gradient.norm().item())


arguments = transformers.TrainingArguments(tempfile.mkdtemp(), per_device_train_batch_size=8, num_train_epochs=5, report_to=[], use_cpu=True, save_strategy="no",
                                           disable_tqdm=True, logging_steps=10)
transformers.Trainer(transformers.BertForSequenceClassification(config), arguments, train_dataset=examples, data_collator=Collator(), callbacks=[Watch()]).train()
