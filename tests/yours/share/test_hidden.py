"""What names a machine or a person is hidden, and the verdict is the same but for names."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

from helpers.yours import is_my_number_good
from helpers.yours.share.hidden import _Hiding, hidden

YOURS, OUTPUT = Path(__file__).parents[1], Path(__file__).parents[2] / "nccl" / "output"
REAL = [*sorted(OUTPUT.glob("*/*.txt")), *sorted((YOURS / "faults").glob("*.txt"))]
HOME, OPT = "/home", "/opt"
HOSTS = (
    "node-a7",
    "gpu-dev-b5985af4",
    "tpgds0007",
    "h7",
    "b9",
    "lab",
    "worker",
    "192-222-52-239",
    "float",
    "dgx01.acme.internal",
)
USERS = ("jane.doe", "x1234567", "mmustermann", "max")
PEOPLES = {  # {h}, {u}: a host and a user; what is behind the bar is what has to be left
    "{u}@{h}:~/proj$ ls|user-1@host-1:path-1/proj$ ls",
    "{h}:31:257 [0] NCCL INFO Bootstrap: Using eth0:10.11.13.106<0>|host-1:31:257 [0] NCCL INFO Bootstrap: Using eth0:address-1<0>",
    "#  Rank  0 Group  0 Pid  9 on  {h} device  0 [0x18] NVIDIA H100|#  Rank  0 Group  0 Pid  9 on  host-1 device  0 [0x18] NVIDIA H100",
    'File "{home}/{u}/acme/train.py", line 3|File "path-1/train.py", line 3',
    'File "{home}/{u}/v/lib/python3.11/site-packages/torch/x.py"|File "path-1/site-packages/torch/x.py"',
    "{home}/{u}|{home}/user-1",
    "LD_LIBRARY_PATH={home}/{u}/nccl/libnccl.so.2.27.5:/usr/lib/libm.so|LD_LIBRARY_PATH=path-1/libnccl.so.2.27.5:/usr/lib/libm.so",
    "  host      : {h}|  host      : host-1",
    "[c10d] The client socket has failed to connect to [{h}]:29500|[c10d] The client socket has failed to connect to [host-1]:29500",
    "MASTER_ADDR={h} USER={u}|MASTER_ADDR=host-1 USER=user-1",
    "NCCL INFO NCCL_HOSTID set by environment to {h}|NCCL INFO NCCL_HOSTID set by environment to host-1",
    "srun: error: {h}: task 3: Exited with exit code 1|srun: error: host-1: task 3: Exited with exit code 1",
    "Process 0 ({h}): device 0: NVIDIA GH200|Process 0 (host-1): device 0: NVIDIA GH200",
    "mpirun -np 16 -H {h}:8 ./all_reduce_perf|mpirun -np 16 -H host-1:8 ./all_reduce_perf",
    "tcp://{h}:29500 and https://github.com/NVIDIA/nccl|tcp://host-1:29500 and https://github.com/NVIDIA/nccl",
    "Nov 28 02:00:00 {h} kernel: NVRM: Xid|Nov 28 02:00:00 host-1 kernel: NVRM: Xid",
    "uid=1000({u}) gid=1000|uid=1000(user-1) gid=1000",
    "C:\\Users\\{u}\\proj\\train.py|path-1\\train.py",
}
THINGS = {
    "link/ether 98:03:9b:ab:cd:ef": "link/ether address-1",
    "GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:00:00:01": "GID: address-1",
    "inet6 fe80::9a03:9bff:feab:cdef/64": "inet6 address-1/64",
    "Node GUID: 0x98039b0300abcdef\nnode_guid: 9803:9b03:00ab:cdef": "Node GUID: address-1\nnode_guid: address-2",
    "GPU 0: NVIDIA H100 (UUID: GPU-4dbfbb99-983a-79af-8527-ca9f0c139426)": "GPU 0: NVIDIA H100 (UUID: uuid-1)",
    "kubectl logs -f train-7b-worker-0 -n acme-prod": "kubectl logs -f job-1 -n job-2",
    "sbatch -J llama-7b -A acme run.sh": "sbatch -J job-1 -A job-2 run.sh",
    "HF_TOKEN=hf_abcdefgh12345 x": "HF_TOKEN=secret-1 x",
    "10.0.0.1 10.0.0.2 10.0.0.1": "address-1 address-2 address-1",
    "gs://acme-data/run7/trace.json": "gs://host-1/trace.json",
}
STAYS = (
    "comm 0x55d0aa10c340 rank 0 nranks 2 busId 18000 commId 0x41c7e20b93ad5f08 - Init START",
    "[0000:06:00] 00000000:1B:00.0 2024-01-02 12:34:56,123 [rank3]: [1,0]<stdout>: 127.0.0.1 localhost 0.0.0.0",
    "nvidia-cudnn-cu12==8.9.2.26, NCCL version 2.27.5+cuda12.9, mlx5_0 eth0 bond0 enp25s0np0, Driver Version: 535.54.03",
    "void vllm::cross_device_reduce_1stage<c10::Half, 8>(c10::Half*) via NET/IB/2/GDRDMA, P2P/CUMEM, 00/02 : 0[0] -> 1[1]",
    f"/dev/shm/nccl-x1 /etc/nccl.conf ~/.nccl.conf {OPT}/amazon/ofi-nccl/lib/libnccl-net.so /usr/local/cuda-12.4/lib64",
    "root@localhost ubuntu actions/checkout@v4 nccl@5067397 GPU0 NIC0 algbw busbw (GB/s) (us) 1/-1/-1->0->-1",
)


@pytest.mark.parametrize("case", sorted(PEOPLES))
def test_no_name_survives(case):
    text, _, want = case.partition("|")
    for host in HOSTS:
        for user in USERS:
            assert hidden(text.format(h=host, u=user, home=HOME)) == want.format(home=HOME)


@pytest.mark.parametrize("text", THINGS)
def test_other_things(text):
    assert hidden(text) == THINGS[text]


@pytest.mark.parametrize("text", STAYS)
def test_what_tells_no_name_stays(text):
    assert hidden(text) == text


def test_a_known_name_is_hidden_wherever_it_stands_and_a_common_word_only_in_its_place():
    text = "{0}:1:2 [0] NCCL INFO x\nssh {0} failed on {0}; {0}\n"
    assert hidden(text.format("acme-17")) == "host-1:1:2 [0] NCCL INFO x\nssh host-1 failed on host-1; host-1\n"
    assert hidden(text.format("float")).startswith("host-1:1:2 [0] NCCL INFO x\nssh float failed")


def test_a_word_behind_a_colon_may_be_any_word():
    assert (
        hidden("Host: Intel Xeon\nHOST=all\nConnected all rings on Intel")
        == "Host: host-1 Xeon\nHOST=host-2\nConnected all rings on Intel"
    )
    assert hidden("host: acme17 x acme17") == "host: host-1 x host-1"


def test_a_line_torn_in_the_middle_keeps_what_stood_before_the_host():
    text = "node7:1:2 [0] NCCL INFO x\n  186.9      0node7:1:2 [0] NCCL INFO y busId 53node7:1:2 [0] NCCL INFO z\n"
    assert hidden(text) == text.replace("node7", "host-1")


def exchanged(text, names):
    for name in sorted(names, key=len, reverse=True):
        text = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", names[name], text)
    return text


def names_in(text):
    hiding = _Hiding(text)
    assert hiding.done() == hidden(text)
    return {name: f"{kind}-{number}" for kind, numbers in hiding.numbers.items() for name, number in numbers.items()}


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_the_verdict_is_the_same_but_for_names(path):
    text = path.read_text()
    told = json.loads(exchanged(json.dumps(is_my_number_good(text).as_json()), names_in(text)))
    shown = is_my_number_good(hidden(text)).as_json()
    for cause in (*told["causes"], *shown["causes"]):
        cause["why"] = re.sub(r"'[^']*\.\.\.'", "'...'", cause["why"])  # quoted up to a number of letters
    assert told == shown
    assert hidden(hidden(text)) == hidden(text)


def test_dumps_of_the_flight_recorder_keep_who_waits():
    dumps = json.loads((OUTPUT / "logs" / "gloo-skip.json").read_text())
    for dump in dumps:
        for entry in dump["entries"]:
            for place, frame in enumerate(entry["frames"]):
                frame["filename"] = f"{HOME}/jane/acme/" + ("site-packages/torch/x.py" if place else "train.py")
    shown = [hidden(json.dumps(dump)) for dump in dumps]
    assert "jane" not in "".join(shown) and "acme" not in "".join(shown)
    assert is_my_number_good(shown).causes == is_my_number_good([json.dumps(dump) for dump in dumps]).causes


def test_a_long_log_in_any_order_has_one_number_a_host():
    chance = random.Random(30)
    hosts = [f"rack{k}-n{chance.randrange(10**6)}" for k in range(300)]
    lines = [f"{chance.choice(hosts)}:{k}:{k} [0] NCCL INFO x" for k in range(3000)]
    seen = list(dict.fromkeys(line.partition(":")[0] for line in lines))
    assert hidden("\n".join(lines)).split("\n") == [
        f"host-{seen.index(line.partition(':')[0]) + 1}:{line.partition(':')[2]}" for line in lines
    ]
