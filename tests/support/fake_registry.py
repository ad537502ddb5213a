"""A schema registry that answers by HTTP on loopback: what the tests of decoders ask."""

import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class FakeRegistry:
    """Schemas by id; subjects with their versions. `asked` has every path, `auth` the last Authorization header."""

    def __init__(self):
        self.schemas = {}
        self.subjects = {}
        self.asked = []
        self.auth = None
        self.failures = []  # status codes that the next requests get
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.asked.append(self.path)
                outer.auth = self.headers.get("Authorization")
                status, body = (outer.failures.pop(0), {}) if outer.failures else outer.answer(self.path)
                data = json.dumps(body).encode()
                self.send_response(status)
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
        self.schemas[schema_id] = {"schema": text, "references": references}
        if kind != "AVRO":  # as the real one, which leaves the type out for Avro
            self.schemas[schema_id]["schemaType"] = kind
        self.subjects.setdefault(subject, []).append(schema_id)

    def answer(self, path):
        parts = path.partition("?")[0].strip("/").split("/")
        if parts[:2] == ["schemas", "ids"] and int(parts[2]) in self.schemas:
            return 200, self.schemas[int(parts[2])]
        if parts[0] == "subjects" and parts[1] in self.subjects:
            versions = self.subjects[parts[1]]
            number = len(versions) if parts[3] == "latest" else int(parts[3])
            return 200, {"subject": parts[1], "version": number, "id": versions[number - 1]}
        return 404, {"error_code": 40403, "message": "not found"}
