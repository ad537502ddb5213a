"""A schema registry that answers by HTTP on loopback: what the tests of decoders and serializers ask."""

import base64
import json
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HELD_S = 60  # at most, of a response that waits for `gate`


class FakeRegistry:
    """Schemas by id; subjects with their versions.

    asked      every path of a GET; posted: (path, body) of every POST
    auth       the last Authorization header
    failures   status codes that the next requests get
    refused    subjects that take no schema: it is not compatible
    gate       cleared: responses wait until it is set
    """

    def __init__(self):
        self.schemas = {}
        self.subjects = {}
        self.asked = []
        self.posted = []
        self.auth = None
        self.failures = []
        self.refused = set()
        self.gate = threading.Event()
        self.gate.set()
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.asked.append(self.path)
                self.respond(lambda: outer.answer(self.path))

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.posted.append((self.path, body))
                self.respond(lambda: outer.take(self.path, body))

            def respond(self, answer):
                outer.auth = self.headers.get("Authorization")
                outer.gate.wait(HELD_S)
                with outer._lock:
                    status, body = (outer.failures.pop(0), {}) if outer.failures else answer()
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.gate.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._server.server_port}"

    def add(self, subject, schema_id, schema, kind="AVRO", references=()):
        """A schema as the next version of a subject; bytes are a serialized Protobuf descriptor."""
        text = base64.b64encode(schema).decode() if isinstance(schema, bytes) else schema
        references = [{"name": name, "subject": of, "version": version} for name, of, version in references]
        self._add(subject, schema_id, text, kind, references)

    def answer(self, path):
        """(status, body) of a GET."""
        parts = _parts(path)
        if parts[:2] == ["schemas", "ids"] and int(parts[2]) in self.schemas:
            return 200, self.schemas[int(parts[2])]
        if parts[0] == "subjects" and parts[1] in self.subjects:
            versions = self.subjects[parts[1]]
            number = len(versions) if parts[3] == "latest" else int(parts[3])
            schema_id = versions[number - 1]
            return 200, {"subject": parts[1], "version": number, "id": schema_id, **self.schemas[schema_id]}
        return 404, {"error_code": 40403, "message": "not found"}

    def take(self, path, body):
        """(status, body) of a POST: a schema that is registered, or looked up."""
        parts, kind = _parts(path), body.get("schemaType", "AVRO")
        subject, references = parts[1], body.get("references") or []
        known = [one for one, found in self.schemas.items() if _is_same(found, body["schema"], kind, references)]
        has = [one for one in known if one in self.subjects.get(subject, ())]
        if parts[2:] == ["versions"]:
            if subject in self.refused:
                return 409, {"error_code": 409, "message": f"Schema being registered is incompatible for {subject}"}
            schema_id = known[0] if known else max(self.schemas, default=0) + 1
            if not has:
                self._add(subject, schema_id, body["schema"], kind, references)
            return 200, {"id": schema_id}
        if not has:
            return 404, {"error_code": 40403, "message": "Schema not found"}
        version = self.subjects[subject].index(has[0]) + 1
        return 200, {"subject": subject, "id": has[0], "version": version, "schema": body["schema"]}

    def _add(self, subject, schema_id, text, kind, references):
        self.schemas[schema_id] = {"schema": text, "references": references}
        if kind != "AVRO":  # as the real one, which leaves the type out for Avro
            self.schemas[schema_id]["schemaType"] = kind
        self.subjects.setdefault(subject, []).append(schema_id)


def _parts(path):
    return [urllib.parse.unquote(part) for part in path.partition("?")[0].strip("/").split("/")]


def _is_same(found, text, kind, references):
    return (found["schema"], found.get("schemaType", "AVRO"), found["references"]) == (text, kind, references)
