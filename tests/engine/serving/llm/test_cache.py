"""KV capacity: published bytes a token, slots by hand, paging's bounds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.engine.serving.llm.cache import CacheShape, contiguous, grouped, latent, multi_head, multi_query, paged, pool_blocks, slots
from ironlaw.errors import BadValue

PUBLISHED = {  # bytes a token in two-byte numbers
    "Llama 3 8B": (grouped(32, 32, 8, 128), 131_072),
    "Llama 3 70B": (grouped(80, 64, 8, 128), 327_680),
    "Llama 3.1 405B": (grouped(126, 128, 8, 128), 516_096),
    "OPT 13B": (multi_head(40, 40, 128), 819_200),  # the 800 KB of vLLM's paper
    "GPT-3": (multi_head(96, 96, 128), 4_718_592),
    "DeepSeek-V2": (latent(60, 512, 64), 69_120),  # 4.5 · head_dim · layers numbers, table 1 of arXiv:2405.04434
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_bytes_a_token(name):
    shape, size = PUBLISHED[name]
    assert shape.token_bytes == size


def test_deepseek_as_its_paper_counts():
    assert latent(60, 512, 64).token_bytes == 2 * 4.5 * 128 * 60


def test_slots_of_llama_3_70b_on_eight_devices():
    room = 8 * 80e9 - 2 * 70_553_706_496  # 70.55 billion parameters
    shape = grouped(80, 64, 8, 128)
    assert (slots(room, shape, 131_072), slots(room, shape, 4096)) == (11, 371)
    every_head = multi_head(80, 64, 128)
    assert (slots(room, every_head, 131_072), slots(room, every_head, 4096)) == (1, 46)
    assert slots(room, multi_query(80, 128), 131_072) == 92
    assert slots(room, grouped(80, 64, 8, 128, "fp8"), 131_072) == 23


def test_what_lets_more_requests_in():
    """Llama 3 70B, 131,072 tokens, eight devices: 11; a cache of one byte 23, weights of half a byte 14, devices of 80 GiB 12."""
    shape, weights = grouped(80, 64, 8, 128), 70_553_706_496
    rooms = {"as it is": 640e9 - 2 * weights, "int4": 640e9 - weights / 2, "GiB": 8 * 80 * 2**30 - 2 * weights}
    assert [slots(room, shape, 131_072) for room in rooms.values()] == [11, 14, 12]
    assert rooms["int4"] / rooms["as it is"] == pytest.approx(1.21, abs=0.005)


@pytest.mark.parametrize(
    ("devices", "weights", "shape", "tokens"), [(1, 8_030_261_248, "Llama 3 8B", 426_800), (4, 70_553_706_496, "Llama 3 70B", 448_300)]
)
def test_tokens_that_nine_tenths_of_the_memory_hold(devices, weights, shape, tokens):
    room = 0.9 * devices * 80e9 - 2 * weights
    assert pool_blocks(room, PUBLISHED[shape][0]) == pytest.approx(tokens, rel=2e-4)


def test_a_pool_that_is_too_small_holds_nothing():
    assert slots(-5.0, grouped(1, 1, 1, 1), 10) == 0 and slots(39.0, grouped(1, 1, 1, 1), 10) == 0
    assert slots(40.0, grouped(1, 1, 1, 1), 10) == 1
    assert (slots(64.0, grouped(1, 1, 1, 1), 9, block=8), pool_blocks(70.0, grouped(1, 1, 1, 1), block=8)) == (1, 2)


def test_devices_share_heads_until_each_has_one():
    shape = grouped(80, 64, 8, 128)
    assert [shape.shard(n).token_bytes * n for n in (1, 2, 8, 16)] == [327_680, 327_680, 327_680, 655_360]
    assert latent(60, 512, 64).shard(8).token_bytes == 69_120


lengths = st.lists(st.integers(1, 5000), min_size=1, max_size=40)


@given(lengths, st.integers(1, 256))
def test_paging_wastes_less_than_a_block_each(tokens, block):
    held = paged(tokens, block)
    assert held.used == sum(tokens) and 0 <= held.waste <= (block - 1) * len(tokens) and (held.used + held.waste) % block == 0
    assert paged(tokens, 1).waste == 0 and paged(tokens, 1).share_used == 1.0
    assert contiguous(tokens, 5000).waste == 5000 * len(tokens) - sum(tokens)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: grouped(32, 32, 7, 128), "divisor of 32"), (lambda: CacheShape(0, 1, 1), "layers is 0"),
        (lambda: CacheShape(1, 1, 1, "fp7"), "fp7"), (lambda: paged([4], 0), "block is 0"), (lambda: paged([0], 2), "length is 0"),
        (lambda: contiguous([9], 8), "at most 8"), (lambda: slots(1e9, grouped(1, 1, 1, 1), 0), "tokens is 0"),
        (lambda: grouped(1, 1, 1, 1).shard(True), "devices is True"),
    ],
)  # fmt: skip
def test_bad_sizes_are_refused(wrong, words):
    with pytest.raises(Exception, match=words) as error:
        wrong()
    assert isinstance(error.value, (BadValue, LookupError, ValueError))
