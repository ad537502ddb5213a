"""Build the compiled core: some modules of the sources as one shared library, by mypyc.

    tree        links to the sources under their package names
    translate   mypyc: Python to C, a file for each module (`translate.py`, a process of its own)
    compile     the C compiler, CHUNKS at a time over the cores; headers are read once a chunk
    link        one shared library; then the manifest, which `headrace/compiled_core.py` reads

What fails leaves a manifest that says why, and the node runs as pure Python. Where this mypy does not take our C functions, or what
comes of it does not compile, the core is built without them, and the manifest says that. Nothing is written beside the sources.
"""

from __future__ import annotations

import ast
import os
import shutil
import sys
import sysconfig
import tempfile
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from headrace.compiled_core import FORMAT, NO_MODULE, PURE, WITH_FUNCTIONS, WITHOUT_FUNCTIONS, is_pure_asked
from tools.native import translate
from tools.native.compiler import (
    BuildFailed,
    c_compiler,
    file_line,
    flags_of_environment,
    hash_of,
    replace,
    run,
    say,
)

CHUNKS: Final = 16
OPTIMIZE: Final = "-O1"  # -O2 takes 1.6 times as long, for 1 to 2% of a request
C_FOLDER: Final = "headrace/native"
C_HEADER: Final = "core.h"  # read before each C file

# The rooms on the path of a request: produces and fetches, followers, coordinators. A file is named by its stem, and is looked for in the
# room and below. Left out: modules with Enums whose members carry more than a value, what msgspec reads the annotations of, what tests
# replace (`log/disk`), `runtime/stop_flag`. A class of the core has no subclass outside of it: hence the controller's process.
CORE: Final = {
    "headrace": "clock",
    "protocol": (
        "apis broker_versions codec_frames codec_primitives compression compression_levels control_record conversion"
        " frames lz4_checksum message_set message_table numbers old_run plain_chunks plain_records record_batch"
        " record_kernel record_scan record_search stream varint"
    ),
    "shm": (
        "arena cluster_table counters doorbell fabric fence free_rows lag_table layout messages observer partition_table"
        " process_table region ring ring_sizes seat steady_date view_reader view_writer wiring"
    ),
    "runtime": (
        "deadlines duty_cycle failed_directory mailbox outbox parts peer peer_options peer_request peer_states peers"
        " poller resolver wire"
    ),
    "log": "batch_walk config group_file index_layout names retention",
    "log/reading": (
        "aborted_transactions batch_search index_reader open_segments reader segment_facts segment_file segment_starts"
        " time_search work_share"
    ),
    "log/recovery": "append_dates damaged_rest epoch_scan log_loader log_reach producer_recall recovery replay",
    "log/segments": "index_file offset_index segment segment_deletion segment_swap stray time_index transaction_index",
    "log/state": (
        "checkpoints compacted_offset known_era leader_epochs loss_mark producer producer_snapshot producer_state"
        " synced_mark topic_checkpoints truncation_mark"
    ),
    "log/writing": (
        "failure_latch follower_append leader_append log_environment log_tail partition_log segment_list sync_state"
        " truncation validator"
    ),
    "workers": "expiry_clock watched_disk write_out",
    "workers/coordinators": (
        "commit_request commits config coordinator deleted_topics deletion effects group group_coordinator group_events"
        " group_machine group_queries group_records group_table joining loader member_answers membership pending_ids"
        " rebalance refusals sessions state_table static_members syncing"
    ),
    "workers/housekeeper": "worker",
    "workers/network": (
        "authorized_operations broker_addresses broker_requests connection context down_conversion epoch_files exchange"
        " fetch_answer fetch_purgatory fetch_sessions follower_fetch forwarded forwarder frame_memory group_owners heap"
        " leader_throttle look_ups loop opening_budget outbox partition_files partition_reads peer_notices placed_frames"
        " plain_admission produce_ledger produce_request produce_template receive_arena record_policy refused_batches"
        " ring_sender router routes topic_creations topic_names worker"
    ),
    "workers/network/handlers": (
        "a00_produce a01_fetch a02_list_offsets a03_metadata a08_offset_commit a09_offset_fetch a10_find_coordinator"
        " a11_join_group a15_describe_groups a16_list_groups a17_sasl_handshake a18_api_versions a21_delete_records"
        " a23_offset_for_leader_epoch a29_describe_acls a30_create_acls a31_delete_acls a32_describe_configs"
        " a34_alter_replica_log_dirs a35_describe_log_dirs a36_sasl_authenticate a42_delete_groups"
        " a48_describe_client_quotas a50_describe_user_scram_credentials a60_describe_cluster a61_describe_producers"
        " a65_describe_transactions a66_list_transactions"
    ),
    "workers/partition": (
        "ahead_log ahead_logs answers append closing_threads coordinator_batch coordinator_host coordinator_kind"
        " group_requests groups intake known_checkpoints known_topics lag_rows large_batches log_directories log_epochs"
        " log_opener log_slices moved_replicas new_replicas opened_logs opening_queue owned_partitions produce_purgatory"
        " producer_description producer_expiry refused_producers replica replica_closer replica_configs replica_copy"
        " replica_moves replica_opener replicas segment_deletions steady_clock storage_failures ticket upkeep worker"
    ),
    "workers/partition/replication": (
        "answer_backoff divergence fetch_answer fetch_changes fetch_options fetch_session fetcher fetchers followed"
        " follower_states followers isr leader_errors leader_questions live_brokers own_batches record_deletions throttle"
    ),
    "controller": "process",
}


def build(root: Path, target: Path, prefix: str) -> str:
    """Build the core of the sources at `root`.

    target    directory for library and manifest, made where it is missing
    prefix    from headrace/ to the other folders: "../" in a checkout, "" in a wheel
    returns   why there is no compiled core; empty where there is
    """
    target = target.resolve()  # the linker runs elsewhere
    target.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    failure = f"{PURE} was set when it was built" if is_pure_asked() else ""
    lines = [f"failed {failure}"]
    if not failure:
        try:
            modules = sources(root)
            known = [f"{name}\t{file_line(root, path, prefix)}" for name, path in modules.items()]  # before: an edit
            known += [
                f"{NO_MODULE}\t{file_line(root, path, prefix)}" for path in read_besides(root)
            ]  # meanwhile is seen
            library, why_plain = _build_library(root, modules, target)
            functions = f"{WITHOUT_FUNCTIONS}: {why_plain}" if why_plain else WITH_FUNCTIONS
            lines = [f"built {library}", functions, *known]
            say(f"compiled core: done, {len(modules)} modules {functions} in {time.monotonic() - started:.0f} s")
        except BuildFailed as failed:
            failure = str(failed)
            lines = [f"failed not built: {failure}"]
            say(f"compiled core: NOT built, pure Python will run: {failure}")
    replace(target / "manifest.txt", "\n".join([FORMAT, *lines]) + "\n")
    for old in target.glob("core-*.so"):
        if old.name not in lines[0]:
            old.unlink()
    return failure


def sources(root: Path) -> dict[str, str]:
    """The modules of the core: name -> path from `root`. raises BuildFailed, where a name of CORE has no file"""
    paths: set[Path] = set()
    for room, stems in CORE.items():
        for stem in stems.split():
            found = list((root / room).rglob(f"{stem}.py"))
            if not found:
                raise BuildFailed(f"there is no {stem}.py in {room}/, which tools/native/core.py names")
            paths.update(path.relative_to(root) for path in found)
    return {_module_name(path): str(path) for path in sorted(paths)}


def _module_name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts if parts[0] == "headrace" else ("headrace", *parts))


def read_besides(root: Path) -> list[str]:
    """Files that are not compiled, but go into what is: our C, the vocabulary, messages, what the core imports. Paths from `root`."""
    compiled = set(sources(root).values())
    besides = [*root.glob(f"{C_FOLDER}/*.[ch]"), *root.glob("headrace/*.py"), *root.glob("protocol/messages/*.py")]
    found = {str(path.relative_to(root)) for path in besides}
    for path in compiled:
        found.update(_imported(root, (root / path).read_text()))
    form = {f"headrace/{name}.py" for name in ("__init__", "compiled_core", "compiled_kernel")}
    return sorted(found - compiled - form)


def _imported(root: Path, source: str) -> Iterator[str]:
    """Files of ours that a source imports, wherever it does."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            names = [node.module, *(f"{node.module}.{one.name}" for one in node.names)]
        elif isinstance(node, ast.Import):
            names = [one.name for one in node.names]
        else:
            continue
        for name in names:
            package, *parts = name.split(".")
            if package == "headrace" and parts:
                path = Path(*parts).with_suffix(".py")
                yield from (str(one) for one in (path, "headrace" / path) if (root / one).exists())


def _build_library(root: Path, modules: dict[str, str], target: Path) -> tuple[str, str]:
    """(the library's name; why it has no functions of ours, empty where it has)"""
    compiler = c_compiler()
    if find_spec("mypyc") is None:
        raise BuildFailed("there is no mypyc: install mypy")
    library = f"core-{hash_of(root, [*modules.values(), *read_besides(root)])}.so"
    fresh = target / f".{library}.new"
    try:
        why_plain = _make(root, modules, compiler, fresh, is_plain=False)
    except BuildFailed as failed:
        why_plain = f"with them, {failed}"
        say(f"compiled core: once more without our C functions: {failed}")
        _make(root, modules, compiler, fresh, is_plain=True)
    fresh.replace(target / library)
    return library, why_plain


def _make(root: Path, modules: dict[str, str], compiler: list[str], library: Path, is_plain: bool) -> str:
    """Write the library. returns why there are no functions of ours, empty where there are or none were wanted. raises BuildFailed"""
    with tempfile.TemporaryDirectory(prefix="headrace-core-") as temporary:
        tree, code = Path(temporary, "tree"), Path(temporary, "code")
        code.mkdir()
        link_tree(root, tree)
        say(f"compiled core 1/3: {len(modules)} modules to C")
        _translate(root, tree, code, ["--plain"] * is_plain + list(modules))
        why_plain = (code / translate.PLAIN).read_text() if (code / translate.PLAIN).exists() else ""
        objects = _compile(compiler, root / C_FOLDER, code, not is_plain and not why_plain)
        say("compiled core 3/3: link")
        run([*compiler, "-shared", "-Wl,-Bsymbolic", "-o", str(library), *objects], code)
        return why_plain


def link_tree(root: Path, tree: Path) -> None:
    """The packages as they are imported, `tree/headrace/...`: a folder of links to the files of `headrace/` and to the other folders."""
    with open(root / "pyproject.toml", "rb") as file:
        folders: dict[str, str] = tomllib.load(file)["tool"]["setuptools"]["package-dir"]
    for package, folder in sorted(folders.items()):
        place = tree.joinpath(*package.split("."))
        if not package.startswith("headrace") or place.exists():
            continue
        if package == "headrace":
            place.mkdir(parents=True)
            for source in (root / folder).iterdir():
                if source.suffix == ".py":
                    (place / source.name).symlink_to(source.resolve())
        else:
            place.symlink_to((root / folder).resolve())


def _translate(root: Path, tree: Path, code: Path, arguments: list[str]) -> None:
    search = os.pathsep.join(filter(None, [str(root.resolve()), os.environ.get("PYTHONPATH")]))  # pip gives mypy by it
    environment = {**os.environ, PURE: "1", "PYTHONPATH": search, "MYPYPATH": str(tree)}
    run([sys.executable, "-m", translate.__name__, str(code), *arguments], tree, environment)


def _chunks(code: Path) -> list[Path]:
    """The C files in CHUNKS files that include them, of about equal size; mypyc's runtime and the loader as they are."""
    written = list(
        code.glob("__native*.c")
    )  # what lies deeper are modules of their own, one a source: the loader does without
    chunks = [path for path in sorted(code.glob("*.c")) if path not in written]  # mypyc's runtime
    heaps: list[tuple[int, list[Path]]] = [(0, []) for _ in range(CHUNKS)]
    for path in sorted(written, key=lambda path: -path.stat().st_size):
        size, members = min(heaps, key=lambda heap: heap[0])
        heaps[heaps.index((size, members))] = (size + path.stat().st_size, [*members, path])
    for number, (_size, members) in enumerate(heaps):
        chunk = code / f"chunk{number}.c"
        chunk.write_text("".join(f'#include "{path}"\n' for path in members))
        chunks.append(chunk)
    return chunks


def _compile(compiler: list[str], c_folder: Path, code: Path, has_functions: bool) -> list[str]:
    import mypyc

    shutil.copy(c_folder / "loader.c", code)
    chunks = _chunks(code)
    runtime = Path(mypyc.__file__).parent / "lib-rt"
    includes = [f"-I{path}" for path in (runtime, code, c_folder.resolve(), sysconfig.get_path("include"))]
    flags = [OPTIMIZE, "-g0", "-w", "-fPIC", "-fvisibility=hidden", "-fwrapv", "-DNDEBUG", *includes]
    if has_functions:
        flags += ["-include", C_HEADER]
    flags += flags_of_environment()
    done = 0
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        jobs = [
            pool.submit(run, [*compiler, *flags, "-c", str(path), "-o", str(path.with_suffix(".o"))], code)
            for path in chunks
        ]
        for job in as_completed(jobs):
            job.result()
            done += 1
            say(f"compiled core 2/3: C to machine code, {done} of {len(chunks)} files")
    return [str(path.with_suffix(".o")) for path in chunks]
