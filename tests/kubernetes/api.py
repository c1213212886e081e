"""A stand-in for Kubernetes: the calls of its API that Snakemake's executor makes.

A pod is run for real, as a container of this machine's Docker engine without a network. What a
cluster would refuse is refused: a call that the role does not allow, a claim that there is none of.
"""

import base64
import json
import re
import subprocess
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from typing_extensions import Self

Object = dict[str, Any]

PATH = re.compile(
    r"/(?:api|apis/(?P<group>[^/]+))/v1/namespaces/default"
    r"/(?P<resource>\w+)(?:/(?P<name>[^/]+)(?P<part>/\w+)?)?"
)
VERBS = {"POST": "create", "DELETE": "delete", "GET": "get"}
REMOVED = {"kind": "Status", "apiVersion": "v1", "status": "Success"}


class RefusedError(Exception):
    """What the API answers with an error."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


class Cluster:
    """One node and what the API knows of it; a context, in which the API answers at `url`.

    Args:
        volumes: the directory of each claim.
        rules: those of the role that the caller has.
        scratch: where pods have their empty directories.
        pods_at_once: others wait.
    """

    def __init__(
        self,
        volumes: dict[str, Path],
        rules: Sequence[Object],
        scratch: Path,
        pods_at_once: int = 2,
    ) -> None:
        self.volumes = volumes
        self.rules = rules
        self.scratch = scratch
        self.secrets: dict[str, dict[str, str]] = {}
        self.pods: dict[str, Future[subprocess.CompletedProcess[str]]] = {}
        self.history: list[tuple[Object, Future[subprocess.CompletedProcess[str]]]] = []
        """The resources that each pod has asked for, and what became of it."""
        self._calls: dict[tuple[str, str], Callable[[str, Object], Object | str]] = {
            ("create", "secrets"): self._create_secret,
            ("delete", "secrets"): self._delete_secret,
            ("create", "jobs"): self._create_job,
            ("get", "jobs/status"): self._job_status,
            ("delete", "jobs"): lambda name, body: REMOVED,
            ("list", "pods"): self._list_pods,
            ("delete", "pods"): self._delete_pod,
            ("get", "pods/log"): lambda name, body: self.pods[name].result().stdout,
        }
        self._node = ThreadPoolExecutor(pods_at_once)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self.pods):
            self._delete_pod(name, {})
        self._server.shutdown()
        self._server.server_close()
        self._node.shutdown()

    def docker_run(self, name: str, pod: Object, network: str = "none") -> list[str]:
        """The command that runs the one container of a pod as its node would."""
        (container,) = pod["containers"]
        words = ["docker", "run", "--rm", "--name", name, "--network", network]
        places = {volume["name"]: self._place(name, volume) for volume in pod["volumes"]}
        for mount in container["volumeMounts"]:
            words += ["--volume", f"{places[mount['name']]}:{mount['mountPath']}"]
        for variable in container.get("env", []):
            secret = variable["valueFrom"]["secretKeyRef"]
            value = base64.b64decode(self.secrets[secret["name"]][secret["key"]]).decode()
            words += ["--env", f"{variable['name']}={value}"]
        memory_mb = container["resources"]["requests"]["memory"].removesuffix("M")
        words += ["--memory", f"{memory_mb}000000"]
        words += ["--workdir", container["workingDir"], "--entrypoint", container["command"][0]]
        return [*words, container["image"], *container["command"][1:], *container["args"]]

    def _place(self, name: str, volume: Object) -> Path:
        if claim := volume.get("persistentVolumeClaim"):
            wanted = str(claim["claimName"])
            if wanted not in self.volumes:
                raise RefusedError(HTTPStatus.UNPROCESSABLE_ENTITY, f"no claim {wanted}")
            return self.volumes[wanted]
        place = self.scratch / name / str(volume["name"])
        place.mkdir(parents=True)
        place.chmod(0o777)
        return place

    def _create_secret(self, _: str, secret: Object) -> Object:
        self.secrets[secret["metadata"]["name"]] = secret["data"]
        return secret

    def _delete_secret(self, name: str, _: Object) -> Object:
        del self.secrets[name]
        return REMOVED

    def _create_job(self, _: str, job: Object) -> Object:
        name, pod = job["metadata"]["name"], job["spec"]["template"]["spec"]
        command = self.docker_run(name, pod)
        self.pods[name] = self._node.submit(
            subprocess.run,
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        requests = pod["containers"][0]["resources"]["requests"]
        self.history.append((requests, self.pods[name]))
        return job

    def _job_status(self, name: str, _: Object) -> Object:
        pod = self.pods[name]
        ended = "failed" if pod.done() and pod.result().returncode else "succeeded"
        return {"metadata": {"name": name}, "status": {ended: 1} if pod.done() else {"active": 1}}

    def _list_pods(self, job: str, _: Object) -> Object:
        pod = self.pods[job]
        state: Object = {"running": {}}
        if pod.done():
            state = {"terminated": {"exitCode": pod.result().returncode}}
        container = {"name": "snakemake", "image": "", "imageID": "", "ready": True}
        container |= {"restartCount": 0, "state": state}
        return {
            "items": [{"metadata": {"name": job}, "status": {"containerStatuses": [container]}}]
        }

    def _delete_pod(self, name: str, _: Object) -> Object:
        pod = self.pods.pop(name)
        if not pod.cancel() and not pod.done():
            subprocess.run(["docker", "kill", name], capture_output=True, check=False)
        return {"metadata": {"name": name}}

    def _answer(self, method: str, url: str, body: Object) -> Object | str:
        address = urlsplit(url)
        found = PATH.fullmatch(address.path)
        if not found:
            raise RefusedError(HTTPStatus.NOT_FOUND, address.path)
        verb, resource = VERBS[method], found["resource"] + (found["part"] or "")
        name = found["name"] or ""
        if selector := parse_qs(address.query).get("labelSelector"):
            verb, name = "list", selector[0].removeprefix("job-name=")
        if not any(
            (found["group"] or "") in rule["apiGroups"]
            and resource in rule["resources"]
            and verb in rule["verbs"]
            for rule in self.rules
        ):
            raise RefusedError(HTTPStatus.FORBIDDEN, f"the role may not {verb} {resource}")
        try:
            return self._calls[verb, resource](name, body)
        except KeyError as error:
            raise RefusedError(HTTPStatus.NOT_FOUND, f"{error} is not found") from None

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        answer = self._answer

        class Handler(BaseHTTPRequestHandler):
            def respond(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                status = HTTPStatus.OK
                try:
                    found = answer(self.command, self.path, json.loads(body or b"{}"))
                except RefusedError as error:
                    status, found = error.status, str(error)
                content = (found if isinstance(found, str) else json.dumps(found)).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_DELETE = respond  # noqa: N815, the base class calls them so

            def log_message(self, *_: object) -> None:
                """Keep quiet."""

        return Handler
