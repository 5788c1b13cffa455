"""S3 as people set it up: each way to give endpoint, region and credentials reaches a server that checks signatures."""

from __future__ import annotations

import json
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import boto3
import pytest
from pyarrow import fs

from kdbg.scale.spark.archive import s3
from kdbg.scale.spark.archive.plan import plan
from kdbg.scale.spark.commit import Output
from kdbg.scale.spark.pipeline import Pipeline, PipelineOptions
from tests.cli.calls import CAPTURES, ENVIRONMENT, Outcome, call

from .servers import free_port, serving

pytestmark = pytest.mark.usefixtures("here")  # Spark's workers do not have the environment of these commands
ALL = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]})
REGION = "eu-north-1"
COUNT = ("query", "s3://lake/tables", "SELECT COUNT(*) AS n FROM exchanges", "-f", "csv")
BARE = {name: value for name, value in ENVIRONMENT.items() if not name.startswith("AWS_")} | {
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": "/nowhere",
    "AWS_SHARED_CREDENTIALS_FILE": "/nowhere",
}


class Store(NamedTuple):
    """Where it is, and two sets of credentials for it: those of a user, and those of a session, with a token."""

    endpoint: str
    user: tuple[str, str]
    session: tuple[str, str, str]


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store that checks the signature of every request; its bucket is `lake`."""
    port = free_port()
    command = (sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", port)
    with serving(tmp_path_factory.mktemp("store") / "store.log", port, *command):
        endpoint = f"http://127.0.0.1:{port}"
        iam, sts, objects = (
            boto3.client(name, endpoint_url=endpoint, region_name=REGION, aws_access_key_id="a",
                         aws_secret_access_key="b")
            for name in ("iam", "sts", "s3")
        )  # fmt: skip
        iam.create_user(UserName="kdbg")
        iam.put_user_policy(UserName="kdbg", PolicyName="all", PolicyDocument=ALL)
        key = iam.create_access_key(UserName="kdbg")["AccessKey"]
        iam.create_role(RoleName="reader", AssumeRolePolicyDocument="{}")
        iam.put_role_policy(RoleName="reader", PolicyName="all", PolicyDocument=ALL)
        role = "arn:aws:iam::123456789012:role/reader"
        lent = sts.assume_role(RoleArn=role, RoleSessionName="session")["Credentials"]
        objects.create_bucket(Bucket="lake", CreateBucketConfiguration={"LocationConstraint": REGION})
        words = {"Content-Type": "text/plain"}
        urllib.request.urlopen(
            urllib.request.Request(f"{endpoint}/moto-api/reset-auth", data=b"0", headers=words, method="POST")
        )
        yield Store(
            endpoint, (key["AccessKeyId"], key["SecretAccessKey"]),
            (lent["AccessKeyId"], lent["SecretAccessKey"], lent["SessionToken"]),
        )  # fmt: skip


def conf(properties: Mapping[str, str]) -> list[str]:
    return [word for name, value in properties.items() for word in ("--conf", f"spark.hadoop.fs.s3a.{name}={value}")]


def properties(store: Store) -> dict[str, str]:
    """Properties of S3A, with the credentials of the session."""
    key, secret, token = store.session
    return {
        "endpoint": store.endpoint.removeprefix("http://"), "connection.ssl.enabled": "false",
        "endpoint.region": REGION, "path.style.access": "true", "access.key": key, "secret.key": secret,
        "session.token": token,
    }  # fmt: skip


def run(*arguments: object, **environment: str) -> Outcome:
    with patch.dict(ENVIRONMENT, BARE | environment, clear=True):
        return call(*arguments)


@pytest.fixture(scope="module")
def tables(locked: Store, spark: Any) -> Store:
    """The store, with a capture in it, and its tables."""
    key, secret = locked.user
    system = fs.S3FileSystem(access_key=key, secret_key=secret, region=REGION, endpoint_override=locked.endpoint)
    with system.open_output_stream("lake/captures/a capture.pcap") as file:
        file.write((CAPTURES / "errors.pcap").read_bytes())
    with reached(locked):
        options = PipelineOptions(diagnose=True)
        Pipeline(spark, Output("s3://lake/tables"), options).run(plan(["s3://lake/captures"], options.split))
    return locked


@contextmanager
def reached(store: Store) -> Iterator[None]:
    """Access the store in this process, and in the tasks that it starts."""
    with s3.using(s3.S3Access(*store.session, store.endpoint, REGION)):
        yield


def test_properties_reach_all_tasks_and_are_kept_nowhere(
    tables: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kdbg.scale.spark import session

    seen: list[str] = []
    start = session.start

    def started(master: str | None = None, configuration: Mapping[str, str] | None = None, **more: object) -> object:
        seen.append(repr(configuration))
        return start(master, configuration)

    monkeypatch.setattr(session, "start", started)
    secrets = tables.session
    done = run(
        "pipeline", "s3://lake/captures", "--out", "s3://lake/others", "--master", "local[2]",
        *conf(properties(tables)), "--conf", "spark.sql.shuffle.partitions=2",
    )  # fmt: skip
    assert (done.status, done.out) == (1, ""), done.err
    assert "tables in s3://lake/others" in done.closing
    assert seen == ["{'spark.sql.shuffle.partitions': '2'}"]
    with reached(tables):
        output = Output("s3://lake/others")
        [(_, entry)] = output.entries()
        [file] = output.log_files(output.opened("runs"), "runs")
        kept = output.system.open_input_stream(f"{output.root}/{file.name}")
        stored = json.dumps(entry).encode() + kept.read()
    assert entry["files"] == {"s3://lake/captures/a capture.pcap": (CAPTURES / "errors.pcap").stat().st_size}
    assert entry["options"]["conf"] == ["spark.sql.shuffle.partitions"]
    for one in secrets:
        assert one.encode() not in stored
        assert one not in done.err


def ways(store: Store, folder: Path) -> dict[str, tuple[dict[str, str], list[str]]]:
    """By their names, environments and options that each give all that is needed."""
    key, secret = store.user
    lent, lent_secret, token = store.session
    keys = {"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret}
    (folder / "config").write_text(
        f"[default]\nregion = {REGION}\n[profile archive]\nregion = {REGION}\nservices = local\n"
        f"[services local]\ns3 =\n  addressing_style = path\n  endpoint_url = {store.endpoint}\n"
    )
    (folder / "credentials").write_text(
        f"[default]\naws_access_key_id = {key}\naws_secret_access_key = {secret}\n"
        f"[archive]\naws_access_key_id={lent}\naws_secret_access_key={lent_secret}\naws_session_token={token}\n"
    )
    files = {"AWS_CONFIG_FILE": f"{folder}/config", "AWS_SHARED_CREDENTIALS_FILE": f"{folder}/credentials"}
    wrong = {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_REGION": "moon-1", **dict.fromkeys(keys, "AKIAWRONG")}
    return {
        "variables": ({**keys, "AWS_ENDPOINT_URL": store.endpoint, "AWS_REGION": REGION}, []),
        "variables of S3": (
            {**keys, **wrong, **keys, "AWS_ENDPOINT_URL_S3": store.endpoint, "AWS_REGION": "",
             "AWS_DEFAULT_REGION": REGION}, []),
        "a session token": ({
            "AWS_ACCESS_KEY_ID": lent, "AWS_SECRET_ACCESS_KEY": lent_secret, "AWS_SESSION_TOKEN": token,
            "AWS_ENDPOINT_URL": store.endpoint, "AWS_REGION": REGION}, []),
        "the default profile": ({**files, "AWS_ENDPOINT_URL": store.endpoint}, []),
        "AWS_PROFILE": ({**files, "AWS_PROFILE": "archive"}, []),
        "properties": (wrong, conf(properties(store))),
    }  # fmt: skip


@pytest.mark.parametrize(
    "way", ["variables", "variables of S3", "a session token", "the default profile", "AWS_PROFILE", "properties"]
)
def test_each_way_is_enough_for_pyarrow_and_deltalake(tables: Store, way: str, tmp_path: Path) -> None:
    environment, options = ways(tables, tmp_path)[way]
    assert run(*COUNT, *options, **environment).out == "n\n58\n"


def test_every_command_that_takes_a_url_reads_it(tables: Store, tmp_path: Path) -> None:
    environment, _ = ways(tables, tmp_path)["AWS_PROFILE"]
    page = tmp_path / "report.html"
    for command, wanted in (
        (("tables", "history"), "overwrite"), (("tables", "vacuum", "--dry-run"), "exchanges: 0 files to delete"),
        (("diagnose",), "not-enough-replicas"), (("report", "-o", page), ""),
        (("query", "--ask", "errors"), "MESSAGE_TOO_LARGE"),
    ):  # fmt: skip
        done = run(*command, "s3://lake/tables", **environment)
        assert done.status in (0, 1), done.err
        assert wanted in done.out
    assert "not-enough-replicas" in page.read_text()


@pytest.mark.parametrize(
    ("change", "options", "problem"),
    [
        ({"AWS_SECRET_ACCESS_KEY": "wrong"}, [], "SignatureDoesNotMatch; kdbg guide pipeline lists how to set"),
        ({"AWS_PROFILE": "nobody"}, [], "AWS_PROFILE=nobody: neither /nowhere nor /nowhere has this profile"),
        ({}, conf({"access.key": "x"}), "spark.hadoop.fs.s3a.access.key without spark.hadoop.fs.s3a.secret.key"),
        ({}, conf({"path.style.access": "perhaps"}), "path.style.access=perhaps: not true or false"),
        ({}, ["--conf", "spark.executor.memory=1g"], "--conf and --verbose require --master"),
    ],
    ids=["wrong", "profile", "half", "flag", "spark"],
)
def test_what_is_wrong_is_one_line_that_shows_no_secret(
    tables: Store, tmp_path: Path, change: dict[str, str], options: list[str], problem: str
) -> None:
    environment, _ = ways(tables, tmp_path)["variables"]
    done = run(*COUNT, *options, **environment | change)
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert problem in done.err
    assert tables.user[1] not in done.err


@pytest.mark.parametrize("url", ["s3://key:hunter2@lake/tables", "s3://key:hunter2/x@lake/tables", "s3a://key@lake"])
def test_credentials_in_a_url_are_refused_unprinted(url: str) -> None:
    done = run("query", url, "SELECT 1 FROM exchanges")
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert "credentials in a URL; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY instead" in done.err
    assert "hunter2" not in done.err


def test_spark_without_a_connector_names_the_package(tables: Store, tmp_path: Path) -> None:
    environment, _ = ways(tables, tmp_path)["variables"]
    done = run(*COUNT, "--master", "local[2]", **environment)
    assert (done.status, done.out) == (2, "")
    assert "Spark cannot read S3; add --conf spark.jars.packages=org.apache.hadoop:hadoop-aws:VERSION" in done.err


def test_the_properties_of_hadoop_are_those_that_it_was_given() -> None:
    given = {"access.key": "k", "secret.key": "s", "endpoint": "h:1", "path.style.access": "True", "fast.upload": "x"}
    left = s3.use_properties([(s3.PREFIX + name, value) for name, value in given.items()])
    try:
        with patch.dict("os.environ", BARE, clear=True):
            found = s3.access()
    finally:
        s3.use_properties(())
    assert left == [(f"{s3.PREFIX}fast.upload", "x")]
    assert found.hadoop_options() == {
        "fs.s3a.access.key": "k", "fs.s3a.secret.key": "s", "fs.s3a.endpoint": "https://h:1",
        "fs.s3a.path.style.access": "true",
    }  # fmt: skip


def test_the_token_of_spark_connect_is_kept_nowhere() -> None:
    from kdbg.scale.spark.session import without_token

    assert without_token("sc://host:15002/;token=hunter2;use_ssl=true") == "sc://host:15002"
    assert without_token("spark://host:7077") == "spark://host:7077"
