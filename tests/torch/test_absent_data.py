"""What a script would fetch, where nothing can be fetched: configurations, models, tokenizers, data sets and pictures of the same form."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from ironlaw.errors import BadValue  # noqa: E402
from ironlaw.tracing.scripts.absent_data import Absent, made_up, words_tokenizer  # noqa: E402
from ironlaw.tracing.scripts.picture_sets import SETS, Pictures, pictures  # noqa: E402
from ironlaw.tracing.scripts.text_sets import texts  # noqa: E402

SMALL: dict[str, Any] = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, vocab_size=50)
KINDS = [("google-bert/bert-base-uncased", "bert"), ("FacebookAI/roberta-base", "roberta"), ("openai-community/gpt2-large", "gpt2")]


def offline(*args: Any, **kwargs: Any) -> Any:
    raise OSError("no network")


class Features(dict[str, Any]):
    pass


class Dataset:
    """As the library holds one to its features: every column is described, and all are equally long."""

    def __init__(self, columns: dict[str, list[Any]], features: Features) -> None:
        assert set(columns) == set(features) and len({len(column) for column in columns.values()}) == 1
        self.columns, self.features = columns, features

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    @classmethod
    def from_dict(cls, columns: dict[str, list[Any]], features: Features) -> Dataset:
        return cls(columns, features)


def class_label(names: list[str]) -> int:
    return len(names)


@pytest.fixture
def datasets(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    library = ModuleType("datasets")
    parts = {"Dataset": Dataset, "DatasetDict": dict, "Features": Features, "Image": lambda: "image", "load_dataset": offline}
    vars(library).update(parts, ClassLabel=class_label, Value=lambda kind: kind, Sequence=lambda inner: [inner])
    image = ModuleType("PIL.Image")
    image.new = lambda mode, size: SimpleNamespace(mode=mode, size=size)  # type: ignore[attr-defined]
    for name, module in (("datasets", library), ("PIL", ModuleType("PIL")), ("PIL.Image", image)):
        monkeypatch.setitem(sys.modules, name, module)
    return library


@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_a_configuration_is_that_of_the_kind_which_the_name_holds(name: str, kind: str):
    absent = Absent()
    found = absent.config(offline, name, num_labels=7, revision="main")
    assert found.model_type == kind and found.num_labels == 7 and absent.kinds == {name: kind}
    assert absent.vocabulary == found.vocab_size and f"a {type(found).__name__} with " in next(iter(absent.notes))


@pytest.mark.parametrize(
    ("name", "millions"),
    [
        ("distilbert/distilgpt2", 82), ("google-bert/bert-base-cased", 108), ("FacebookAI/roberta-large", 355),
        ("openai-community/gpt2-large", 774), ("google-t5/t5-base", 223), ("HuggingFaceTB/SmolLM-360M", 362),
        ("HuggingFaceTB/SmolLM-135M", 135), ("google-bert/bert-base-uncased", 109),
    ],
)  # fmt: skip
def test_a_known_checkpoint_has_its_own_sizes(name: str, millions: int):
    """Parameters as their model cards say."""
    with torch.device("meta"):
        model = transformers.AutoModel.from_config(Absent().config(offline, name))
    assert round(sum(weight.numel() for weight in model.parameters()) / 1e6) in (millions, millions + 1)


def test_a_size_is_not_a_kind():
    assert Absent().config(offline, "HuggingFaceTB/SmolLM-360M").model_type == "llama"
    assert Absent().config(offline, "HuggingFaceTB/SmolLM3-3B").model_type == "smollm3"


def test_a_configuration_that_is_here_is_read_and_one_of_no_kind_is_refused():
    absent, here = Absent(), transformers.BertConfig(vocab_size=999)
    assert absent.config(lambda name: here, "some/where") is here and absent.vocabulary == 999 and not absent.notes
    with pytest.raises(BadValue, match=r"the configuration of some/qwxyz can't be fetched here \(no network\); put its config.json"):
        absent.config(offline, "some/qwxyz")


def test_what_a_configuration_does_not_take_comes_back_but_not_where_its_file_lies():
    found, unused = Absent().config(offline, "bert-base", return_unused_kwargs=True, num_labels=3, token="t", foo=1)
    assert found.num_labels == 3 and unused == {"foo": 1}


def test_a_model_has_the_sizes_that_were_asked_for_and_is_not_fetched(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", staticmethod(lambda name: transformers.BertConfig(**SMALL)))
    with made_up() as absent, torch.device("meta"):
        ask = transformers.AutoModelForSequenceClassification, "some/bert"
        kwargs = {"num_labels": 7, "attn_implementation": "eager", "dtype": torch.bfloat16, "hidden_dropout_prob": 0.5}
        model = absent.model(*ask, **kwargs)
        direct = transformers.BertModel.from_pretrained("some/bert", dtype="auto")
    assert model.classifier.weight.shape == (7, 16) and model.classifier.weight.dtype == torch.bfloat16
    assert model.config._attn_implementation == "eager" and model.config.hidden_dropout_prob == 0.5
    assert (
        direct.dtype == torch.float32
        and type(direct) is transformers.BertModel
        and direct.embeddings.word_embeddings.weight.shape == (50, 16)
    )


def test_a_tokenizer_takes_a_word_for_a_token_and_knows_as_many_as_the_model(monkeypatch: pytest.MonkeyPatch):
    for kind in (transformers.AutoConfig, transformers.AutoTokenizer):
        monkeypatch.setattr(kind, "from_pretrained", staticmethod(offline))
    with made_up() as absent:
        tokenizer = transformers.AutoTokenizer.from_pretrained("google-bert/bert-base-uncased")
    assert len(tokenizer) == transformers.BertConfig().vocab_size == 30_522 and len(absent.notes) == 2
    ids = tokenizer("word7 word8 elsewhere", "word7")["input_ids"]
    assert tokenizer.convert_ids_to_tokens(ids) == ["[CLS]", "word7", "word8", "[UNK]", "[SEP]", "word7", "[SEP]"]
    assert tokenizer.pad_token_id == 0 and tokenizer.mask_token == "[MASK]"


def test_a_tokenizer_that_is_here_is_taken_but_not_an_empty_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", staticmethod(offline))
    absent, whole = Absent(), words_tokenizer(400)
    assert absent.tokenizer(lambda name: whole, "here") is whole and not absent.notes
    assert len(absent.tokenizer(lambda name: words_tokenizer(20), "google-bert/tiny")) == 30_522


def test_an_image_processor(monkeypatch: pytest.MonkeyPatch):
    stand_in = object()
    monkeypatch.setitem(sys.modules, "transformers", SimpleNamespace(ViTImageProcessor=lambda: stand_in))
    absent = Absent()
    assert absent.images(lambda name: name, "here") == "here" and not absent.notes
    assert absent.images(offline, "google/vit") is stand_in and "a ViTImageProcessor stands for it" in next(iter(absent.notes))


def test_a_data_set_has_its_own_columns_classes_and_parts(datasets: ModuleType):
    with made_up() as absent:
        parts = datasets.load_dataset("glue", "mrpc")
    assert {name: len(part) for name, part in parts.items()} == {"train": 5000, "validation": 1000, "test": 1000, "unsupervised": 1000}
    features = {"sentence1": "string", "sentence2": "string", "label": 2, "idx": "int64"}
    assert parts["train"].features == features and len(parts["test"].columns["sentence1"][0].split()) == 128
    assert list(absent.notes) == ["assumed: the data set glue/mrpc can't be fetched here; texts of 128 words stand for it"]


def test_a_data_set_of_pictures_is_short_and_one_that_is_here_is_read(datasets: ModuleType):
    absent = Absent()
    images = absent.dataset(offline, "cifar100", split="train")
    assert len(images) == 200 and images.features == {"img": "image", "label": 100} and images.columns["label"][0] == 99
    assert images.columns["img"][0].size == (256, 256)
    assert absent.dataset(lambda name: f"read {name}", "here") == "read here" and len(absent.notes) == 1


def test_columns_inside_others_and_those_that_the_script_names(datasets: ModuleType):
    answers = Absent("""rows["answers.text"], rows["answers.start"], examples["question"]""").made("some/qa", split="train")
    assert answers.features == {"question": "string", "text": "string", "label": 2, "answers": {"text": ["string"], "start": ["string"]}}
    answer = answers.columns["answers"][4999]
    assert answer["text"] == answer["start"] and len(answer["text"][0].split()) == 128


def test_words_with_a_tag_each_and_several_splits(datasets: ModuleType):
    words, _ = Absent().made("wnut_17", split=["train", "test"])
    assert words.features == {"id": "string", "tokens": ["string"], "ner_tags": [13]}
    assert len(words.columns["tokens"][0]) == len(words.columns["ner_tags"][0]) == 128 and words.columns["ner_tags"][0][0] == 12
    named = Absent("""names = data["train"].features[f"pos_tags"].feature.names""").made("some/corpus", split="train")
    assert named.features["pos_tags"] == [2]


def test_lightnings_wikitext(monkeypatch: pytest.MonkeyPatch, tmp_path: Any):
    real, demos, inner = SimpleNamespace, ModuleType("lightning.pytorch.demos"), ModuleType("lightning.pytorch.demos.transformer")
    for module in (demos, inner):
        module.WikiText2 = real  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)
    absent = Absent()
    with texts(absent):
        made = demos.WikiText2(tmp_path)
        (tmp_path / "wikitext-2.txt").write_text("words\n")
        with pytest.raises(TypeError):  # the real one is called, which is none here
            inner.WikiText2(tmp_path)
    words, following = made[len(made) - 1]
    assert demos.WikiText2 is inner.WikiText2 is real and made.vocab_size == 33_278 and len(made) == 59_674
    assert words.shape == following.shape == (35,) and torch.equal(words[1:], following[:-1]) and int(words.max()) < 33_278
    assert list(absent.notes) == ["assumed: the file of WikiText2 is not here; text in sequences of 35 of its 33,278 words stands for it"]


def test_pictures_of_a_set_have_its_size_mode_and_labels(datasets: ModuleType, monkeypatch: pytest.MonkeyPatch):
    def cifar(root: str, train: bool = True, transform: Any = None, target_transform: Any = None, download: bool = False) -> Any:
        assert not download
        raise RuntimeError("not found")

    library = SimpleNamespace(CIFAR10=cifar, MNIST=lambda root, **more: f"{root} {more}")
    monkeypatch.setitem(sys.modules, "torchvision.datasets", library)
    absent = Absent()
    with pictures(absent):
        made = library.CIFAR10("data", True, lambda picture: picture.size, target_transform=lambda label: -label, download=True)
        assert library.MNIST("data", download=True) == "data {'download': False}"
    assert library.CIFAR10 is cifar and isinstance(made, Pictures) and len(made) == 50_000
    assert made[23] == ((32, 32), -3) and made.class_to_idx["class 9"] == 9  # pictures go round the ten classes
    assert list(absent.notes) == ["assumed: the files of CIFAR10 are not here; colour pictures of 32x32 stand for it"]


def test_pictures_without_transforms(datasets: ModuleType):
    grey, folders = Pictures("MNIST", None, None), Pictures("ImageFolder", None, None)
    assert (grey[0][0].mode, grey[0][0].size, grey[59_999][1]) == ("L", (28, 28), 9)
    assert {folders[i][1] for i in range(9)} == {0, 1} and len(folders.classes) == SETS["ImageNet"][2] == 1000
