import Foundation
import Primitives
import Testing

@Suite("Raw writer")
struct RawWriterTests {
  private func text(_ write: (inout RawWriter) -> Void) -> String {
    let bytes = [UInt8](unsafeUninitializedCapacity: 200) { memory, count in
      var writer = RawWriter(memory)
      writer.append("<")
      write(&writer)
      writer.append(UInt8(ascii: ">"))
      count = writer.count
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test("base64 is that of Foundation for every length", arguments: 0...40)
  func base64(_ count: Int) {
    for first in [0, 77, 190] {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 151 &+ first) }
      let written = text { writer in bytes.withUnsafeBytes { writer.append(base64: $0) } }
      #expect(written == "<\(Data(bytes).base64EncodedString())>")
    }
  }

  @Test(
    "a number has at least the digits that were asked for, and never fewer than it needs",
    arguments: [
      (0, 1, "0"), (7, 2, "07"), (10, 1, "10"), (99, 2, "99"), (100, 2, "100"), (2024, 4, "2024"), (5, 4, "0005"),
    ])
  func digits(_ number: Int, _ digits: Int, _ expected: String) {
    #expect(text { $0.append(number, digits: digits) } == "<\(expected)>")
  }
}
