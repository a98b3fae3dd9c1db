"""Scores a text with a GGUF file; run by the environment that has llama-cpp-python.

`python score_gguf.py FILE.gguf TEXT` prints JSON: the text's token ids, the log-probability of each
after the first, and the likeliest successor of each.
"""

import json
import sys


def main(file: str, text: str) -> None:
    import numpy as np
    from llama_cpp import Llama

    model = Llama(file, n_ctx=256, n_threads=1, logits_all=True, verbose=False)
    ids = model.tokenize(text.encode(), add_bos=False, special=True)
    model.eval(ids)
    table = np.array(model.scores[: len(ids)], dtype=np.float64)
    table -= table.max(-1, keepdims=True)
    table -= np.log(np.exp(table).sum(-1, keepdims=True))
    scores = [float(row[token]) for row, token in zip(table, ids[1:], strict=False)]
    print(json.dumps({"ids": ids, "logprobs": scores, "best": table.argmax(-1).tolist()}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
