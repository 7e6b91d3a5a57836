import Foundation
import PhotoFixtures
import Testing

/// A multipart response, parsed by Python's email package as an independent parser.
struct Multipart {
  struct Part {
    let fields: [String: String]
    let body: [UInt8]
  }

  let type: String
  let parts: [Part]

  init(_ answer: TestDaemon.Response) throws {
    let contentType = try #require(answer["Content-Type"])
    let script = """
      import sys, json, email, email.policy
      data = b"Content-Type: " + sys.argv[1].encode() + b"\\r\\n\\r\\n" + sys.stdin.buffer.read()
      message = email.message_from_bytes(data, policy=email.policy.HTTP)
      assert not message.defects, message.defects
      print(json.dumps({"type": message.get_content_type(), "parts": [
        {"fields": {k.lower(): v for k, v in part.items()}, "body": part.get_payload(decode=True).hex()}
        for part in message.iter_parts()]}))
      """
    let run = try runToEnd("/usr/bin/env", ["python3", "-c", script, contentType], input: answer.body)
    struct Shape: Decodable {
      struct Part: Decodable {
        let fields: [String: String]
        let body: String
      }
      let type: String
      let parts: [Part]
    }
    let shape = try JSONDecoder().decode(Shape.self, from: Data(run.output))
    type = shape.type
    parts = shape.parts.map { part in
      let digits = Array(part.body.utf8)
      let body = stride(from: 0, to: digits.count, by: 2).map {
        UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16) ?? 0
      }
      return Part(fields: part.fields, body: body)
    }
  }
}
