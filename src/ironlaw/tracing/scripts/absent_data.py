"""Data sets, tokenizers and configurations that are in no cache here are replaced by others of the same form, with a note.

What is there is read as it is; only the weights of a pretrained model are never read, since no tensor holds any.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from importlib import import_module
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.tracing.real_tensors import as_plain
from ironlaw.tracing.target import in_one_line

WORDS = 128  # of a text that is made up; each is a token
ROWS = {"train": 5000, "validation": 1000, "test": 1000, "unsupervised": 1000}
IMAGES = 200  # rows of a data set of images, which are larger
EMPTY = 300  # tokens of a tokenizer that knows no words
SIDE = 256  # of an image, in pixels
COLUMNS: dict[str, tuple[str, ...]] = {  # by what a data set's name holds: its columns; the others have a text and a label
    "mrpc": ("sentence1", "sentence2", "label", "idx"), "glue": ("sentence", "label", "idx"), "squad": ("id", "question", "context"),
    "wikitext": ("text",), "food101": ("image", "label"), "cifar": ("img", "label"), "mnist": ("image", "label"),
    "imagenet": ("image", "label"), "beans": ("image", "labels"), "tiny_shakespeare": ("text",),
    "wnut": ("id", "tokens", "ner_tags"), "conll": ("id", "tokens", "pos_tags", "chunk_tags", "ner_tags"),
}  # fmt: skip
NAMED = re.compile(r"""\w\[f?["']([A-Za-z_][\w.]*)["']\]""")  # examples["question"]
NO_COLUMN = (
    *ROWS,
    "input_ids",
    "attention_mask",
    "token_type_ids",
    "labels",
    "pixel_values",
    "input_values",
    "position_ids",
    "length",
    "loss",
    "eval_loss",
    "logits",
    "state_dict",
    "model",
    "optimizer",
    "epoch",
)  # fmt: skip - what scripts name in the same way
PICTURES, LABELS, NUMBERS, TOKENS, TAGS = ("image", "img"), ("label", "labels"), ("idx",), "tokens", "_tags"
CLASSES = {
    "yelp": 5,
    "food101": 101,
    "cifar100": 100,
    "cifar10": 10,
    "mnist": 10,
    "imagenet": 1000,
    "ag_news": 4,
    "wnut": 13,
    "conll": 9,
}  # else 2
LARGE = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096}
ROBERTA = {"vocab_size": 50_265, "max_position_embeddings": 514, "type_vocab_size": 1}
SMOL = {"vocab_size": 49_152, "max_position_embeddings": 2048, "tie_word_embeddings": True}
SIZES: dict[str, tuple[str, dict[str, Any]]] = {  # of checkpoints that documentations train: the kind, and what differs from its defaults
    "distilgpt2": ("gpt2", {"n_layer": 6}), "gpt2-medium": ("gpt2", {"n_layer": 24, "n_embd": 1024, "n_head": 16}),
    "gpt2-large": ("gpt2", {"n_layer": 36, "n_embd": 1280, "n_head": 20}),
    "gpt2-xl": ("gpt2", {"n_layer": 48, "n_embd": 1600, "n_head": 25}),
    "bert-base-cased": ("bert", {"vocab_size": 28_996}), "bert-large": ("bert", LARGE),
    "bert-large-cased": ("bert", LARGE | {"vocab_size": 28_996}),
    "roberta-base": ("roberta", ROBERTA), "roberta-large": ("roberta", ROBERTA | LARGE),
    "t5-base": ("t5", {"d_model": 768, "d_ff": 3072, "num_layers": 12, "num_heads": 12}),
    "t5-large": ("t5", {"d_model": 1024, "d_ff": 4096, "num_layers": 24, "num_heads": 16}),
    "SmolLM-135M": ("llama", SMOL | {"hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30,
    "num_attention_heads": 9, "num_key_value_heads": 3}),
    "SmolLM-360M": ("llama", SMOL | {"hidden_size": 960, "intermediate_size": 2560, "num_hidden_layers": 32,
    "num_attention_heads": 15, "num_key_value_heads": 5}),
}  # fmt: skip
HUB = (
    "return_unused_kwargs",
    "revision",
    "code_revision",
    "token",
    "cache_dir",
    "trust_remote_code",
    "subfolder",
    "local_files_only",
    "force_download",
    "proxies",
    "_from_auto",
    "_commit_hash",
    "use_auth_token",
    "user_agent",
    "resume_download",
)  # fmt: skip - what only says where a file lies
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


class Absent:
    """`text`: the script's, which names the columns of its data. `notes`: what was put in the place of what."""

    def __init__(self, text: str = "") -> None:
        self.text = text
        self.notes: dict[str, None] = {}
        self.vocabulary = 30_522
        self.kinds: dict[str, str] = {}  # name of a checkpoint -> kind of model

    def note(self, words: str) -> None:
        self.notes[f"assumed: {words}"] = None

    # ---- transformers

    def config(self, real: Callable[..., Any], name: Any, *args: Any, **kwargs: Any) -> Any:
        transformers = sys.modules["transformers"]
        try:
            with as_plain():
                found = real(name, *args, **kwargs)
        except Exception as error:
            mapping = transformers.models.auto.configuration_auto.CONFIG_MAPPING
            plain = str(name).rpartition("/")[2].lower()
            known = max((key for key in SIZES if holds(plain, key)), key=len, default="")
            kind, sizes = SIZES.get(known, ("", {}))
            kinds = [key for key in mapping if holds(plain, key)]
            if not kinds and not kind:
                raise BadValue(
                    f"the configuration of {name} can't be fetched here ({in_one_line(str(error))}); put its config.json into a"
                    " folder and name that, or run once where there is a network"
                ) from None
            kind = kind or max(kinds, key=len)
            changes = {key: value for key, value in kwargs.items() if key in ("num_labels", "id2label", "label2id", "problem_type")}
            found = mapping[kind](**sizes | changes)
            which = f"the sizes of {known}" if known else "its default sizes"
            self.note(f"{name} can't be fetched here; a {type(found).__name__} with {which} stands for it")
            if kwargs.get("return_unused_kwargs"):
                unused = {key: value for key, value in kwargs.items() if key not in (*changes, *HUB)}
                found = found, unused
        made = found[0] if isinstance(found, tuple) else found
        self.kinds[str(name)] = getattr(made, "model_type", "")
        self.vocabulary = int(getattr(made, "vocab_size", 0) or self.vocabulary)
        return found

    def model(self, kind: type, name: Any, **kwargs: Any) -> Any:
        transformers = sys.modules["transformers"]
        config = kwargs.pop("config", None)
        if config is None or isinstance(config, str):
            config = transformers.AutoConfig.from_pretrained(config or name)
        dtype = kwargs.pop("dtype", kwargs.pop("torch_dtype", None))  # "auto" means what the configuration says
        for key, value in kwargs.items():
            if key in ("num_labels", "id2label", "label2id", "attn_implementation") or hasattr(config, key):
                with suppress(AttributeError, ValueError):
                    setattr(config, key if key != "attn_implementation" else "_attn_implementation", value)
        more = {"dtype": dtype} if dtype is not None and dtype != "auto" else {}
        return kind.from_config(config, **more) if hasattr(kind, "from_config") else kind._from_config(config, **more)  # type: ignore[attr-defined]

    def tokenizer(self, real: Callable[..., Any], name: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            with as_plain():
                found = real(name, *args, **kwargs)
                if len(found) < EMPTY:  # without its files some come without words
                    raise OSError
                return found
        except Exception:
            self.note(f"the tokenizer of {name} can't be fetched here; one that takes a word for a token stands for it")
            with suppress(Exception):
                sys.modules["transformers"].AutoConfig.from_pretrained(name)
            return words_tokenizer(self.vocabulary)

    def images(self, real: Callable[..., Any], name: Any, *args: Any, **kwargs: Any) -> Any:
        transformers = sys.modules["transformers"]
        try:
            with as_plain():
                return real(name, *args, **kwargs)
        except Exception:
            self.note(f"the image processor of {name} can't be fetched here; a ViTImageProcessor stands for it")
            return transformers.ViTImageProcessor()

    # ---- datasets

    def dataset(self, real: Callable[..., Any], name: Any, *args: Any, **kwargs: Any) -> Any:
        with as_plain():
            try:
                return real(name, *args, **kwargs)
            except Exception:
                return self.made(name, *args, **kwargs)

    def columns(self) -> tuple[str, ...]:
        """The columns that the script asks for by name."""
        named = [name for name in dict.fromkeys(NAMED.findall(self.text)) if name not in NO_COLUMN]
        return (*named, *(column for column in ("text", "label") if column not in named))

    def made(self, name: Any, *args: Any, split: Any = None, **kwargs: Any) -> Any:
        datasets = sys.modules["datasets"]
        called = "/".join(str(part) for part in (name, *args, kwargs.get("name")) if part)
        columns = next((columns for key, columns in COLUMNS.items() if key in called), self.columns())
        classes = next((count for key, count in CLASSES.items() if key in called), 2)
        pictures = any(column in PICTURES for column in columns)
        what = f"pictures of {SIDE}x{SIDE}" if pictures else f"texts of {WORDS} words"
        self.note(f"the data set {called} can't be fetched here; {what} stand for it")

        def part(rows: int) -> Any:
            rows = min(rows, IMAGES) if pictures else rows
            values = {column: [value(column, classes)] * rows for column in columns if "." not in column}
            features = {column: feature(datasets, column, classes) for column in values}
            for outer in {column.partition(".")[0] for column in columns if "." in column}:  # "answers.text", once flattened
                inner = [column.partition(".")[2] for column in columns if column.startswith(f"{outer}.")]
                values[outer] = [{name: [value(name, classes)] for name in inner}] * rows
                features[outer] = {name: [feature(datasets, name, classes)] for name in inner}
            return datasets.Dataset.from_dict(values, datasets.Features(features))

        def streamed(rows: int) -> Any:
            return part(rows).to_iterable_dataset() if kwargs.get("streaming") else part(rows)

        if isinstance(split, (list, tuple)):
            return [streamed(ROWS["train"]) for _ in split]
        if split is not None:
            return streamed(ROWS["train"])
        holder = datasets.IterableDatasetDict if kwargs.get("streaming") else datasets.DatasetDict
        return holder({key: streamed(rows) for key, rows in ROWS.items()})


def holds(name: str, key: str) -> bool:
    """Whether a checkpoint's name holds a kind's, however it is spelled; SmolLM-360M is not of the kind smollm3."""
    letters = re.sub(r"[^a-z0-9]", "", key.lower())
    return re.search("[^a-z0-9]*".join(letters) + r"(?!(?<=\d)\d)", name) is not None


def value(column: str, classes: int) -> Any:
    if column == TOKENS:
        return ["word"] * WORDS
    if column.endswith(TAGS):
        return [classes - 1] * WORDS
    if column in PICTURES:
        image: Any = import_module("PIL.Image")

        return image.new("RGB", (SIDE, SIDE))
    return classes - 1 if column in LABELS else 0 if column in NUMBERS else " ".join(["word"] * WORDS)


def feature(datasets: Any, column: str, classes: int) -> Any:
    if column == TOKENS:
        return datasets.Sequence(datasets.Value("string"))
    if column.endswith(TAGS):
        return datasets.Sequence(datasets.ClassLabel(names=[f"class {i}" for i in range(classes)]))
    if column in PICTURES:
        return datasets.Image()
    if column in LABELS:
        return datasets.ClassLabel(names=[f"class {i}" for i in range(classes)])
    return datasets.Value("int64" if column in NUMBERS else "string")


def words_tokenizer(size: int) -> Any:
    from transformers import PreTrainedTokenizerFast

    tokenizers: Any = import_module("tokenizers")
    models, pre_tokenizers, processors = tokenizers.models, tokenizers.pre_tokenizers, tokenizers.processors

    vocabulary = {token: i for i, token in enumerate(SPECIAL)} | {f"word{i}": i for i in range(len(SPECIAL), size)}
    tokenizer = tokenizers.Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    ends = [("[CLS]", 2), ("[SEP]", 3)]
    tokenizer.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", ends)
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=512, eos_token="[SEP]", **names)


@contextmanager
def set_to(place: Any, name: str, value: Any) -> Iterator[None]:
    """As `replaced`, for what a class holds as a class method."""
    before = vars(place)[name]
    setattr(place, name, value)
    try:
        yield
    finally:
        setattr(place, name, before)


@contextmanager
def made_up(text: str = "") -> Iterator[Absent]:
    """`text`: the script's."""
    absent = Absent(text)
    with ExitStack() as stack:

        def instead(place: Any, name: str, answer: Callable[..., Any]) -> None:
            if place is not None and name in vars(place):
                real = getattr(place, name)
                stand_in = partial(answer, real)
                stack.enter_context(set_to(place, name, staticmethod(stand_in) if isinstance(place, type) else stand_in))

        transformers = sys.modules.get("transformers")
        if transformers is not None:
            instead(transformers.AutoConfig, "from_pretrained", absent.config)
            instead(transformers.AutoTokenizer, "from_pretrained", absent.tokenizer)
            instead(transformers.AutoImageProcessor, "from_pretrained", absent.images)
            model = classmethod(lambda cls, name=None, *a, **k: absent.model(cls, name, **k))
            stack.enter_context(set_to(transformers.PreTrainedModel, "from_pretrained", model))
        instead(sys.modules.get("datasets"), "load_dataset", absent.dataset)
        yield absent
