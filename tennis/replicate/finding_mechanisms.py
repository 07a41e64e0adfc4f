"""Find the causes of a match's latest balls: play their rallies again, and look."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed

from tennis.explain.replayed import explain
from tennis.kit.errors import BenchError, RallyError, UsageError
from tennis.kit.log import log
from tennis.play.rally import Stop, Watch
from tennis.rally import Rally
from tennis.rally.text import plain
from tennis.replicate.mechanisms import Mechanism, Mechanisms
from tennis.replicate.samples import Sample
from tennis.replicate.verdicts import Replication


def find_mechanisms(
    replication: Replication, kernels: Mapping[str, str], stop: Stop, workers: int
) -> Mechanisms:
    """Explain the latest ball of each side that was compared; known ones stay.

    ``kernels``: built trees by the plan's names. It logs a line for each. The findings are kept in
    the match's folder after each ball, so that the same call continues. Raises UsageError if no
    rally of the match can be played again.
    """
    match = replication.match
    if match.bench != "virtual":
        raise UsageError(
            f"a match of the bench {plain(match.bench, 20)} cannot be explained: only the virtual "
            "bench gives the same balls again"
        )
    known = Mechanisms.read(match.path)
    cells = dict(known.cells)
    left = list(_left(replication, cells))
    with ThreadPoolExecutor(workers) as pool:
        # each of them waits for a QEMU of its own
        asked = {
            pool.submit(_explained, sample, rally, ball, kernels.get(sample.side.kernel), stop): (
                sample,
                ns,
            )
            for sample, rally, ball, ns in left
        }
        for number, future in enumerate(as_completed(asked), 1):
            sample, ns = asked[future]
            head = f"{number}/{len(left)} {sample.words}, {sample.side.latency}"
            try:
                found = future.result()
            except KeyboardInterrupt:
                pool.shutdown(cancel_futures=True)
                raise
            except (BenchError, RallyError, UsageError) as error:
                log.info(f"{head}: cannot be explained: {error}")
                continue
            cells[sample.name] = found.model_copy(update={"ns": ns})
            known = Mechanisms(cells=cells)
            known.write(match.path)
            log.info(f"{head}: {found.sentence}")
    return known


def _left(
    replication: Replication, mechanisms: Mapping[str, Mechanism]
) -> Iterator[tuple[Sample, Rally, int, int | None]]:
    """Yield each side's latest ball, unless it is explained already."""
    for sample in replication.compared:
        name, rally, ball, ns = sample.latest()
        there = mechanisms.get(sample.name)
        if there is None or (there.rally, there.ball) != (name, ball):
            yield sample, rally, ball, ns


def _explained(
    sample: Sample, rally: Rally, ball: int, kernel: str | None, stop: Stop
) -> Mechanism:
    told = explain(
        rally, ball=ball, about=sample.side.latency, kernel=kernel, watch=Watch(stop=stop)
    )
    return Mechanism(rally=rally.path.name, ball=ball, ns=None, sentence=told.story.sentence[:4000])
