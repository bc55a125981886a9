# SPDX-License-Identifier: MIT
"""Training steps of a small GPT-2 of transformers with random weights, with NVTX ranges for each step, forward,
backward and optimizer. Prints `steps COUNT`, and each step's loss.
"""

import torch
import transformers
from torch.cuda import nvtx

STEPS = 4


def main():
    torch.manual_seed(1)
    config = transformers.GPT2Config(n_layer=6, n_embd=384, n_head=6, vocab_size=4096, n_positions=256,
                                     attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0, use_cache=False,
                                     bos_token_id=0, eos_token_id=0)
    with nvtx.range("set-up"):
        model = transformers.GPT2LMHeadModel(config).cuda()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        tokens = torch.randint(0, 4096, (4, 256)).cuda()
    losses = []
    for _ in range(STEPS):
        with nvtx.range("step"):
            with nvtx.range("forward"):
                loss = model(tokens, labels=tokens).loss
            with nvtx.range("backward"):
                loss.backward()
            with nvtx.range("optimizer"):
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
            losses.append(loss.item())
    print("steps", STEPS)
    for loss in losses:
        print(f"loss {loss:.2f}")


main()
