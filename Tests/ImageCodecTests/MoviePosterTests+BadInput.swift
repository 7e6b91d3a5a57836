import ImageCodec
import PhotoFixtures
import PhotoModel
import Testing

extension MoviePosterTests {
  @Test("movies that can't be shown are refused by name")
  func refused() {
    func error(_ file: File) -> CodecError? {
      do throws(CodecError) {
        _ = try header(file)
        return nil
      } catch {
        return error
      }
    }
    func avc(_ change: (inout File) -> Void) -> File { CodedMovieSamples.avc(change) }
    func table(_ name: String, _ numbers: [Int]) -> File {
      avc { $0.replacedTables[name] = Boxes.fullBox(name, numbers.flatMap { Boxes.number($0, 4) }) }
    }
    #expect(error(File(File.entry("VP6F", 40, 24), [Frame([1])])) == .unsupported("a video of the codec VP6F"))
    func compact(_ numbers: [UInt8]) -> File {
      avc { ($0.compactSizeBits, $0.replacedTables["stz2"]) = (8, Boxes.fullBox("stz2", numbers)) }
    }
    for (numbers, message) in [
      ([0, 0, 0, 3, 0, 0, 0, 2, 0x55], "sample sizes of 3 bits"),
      ([0, 0, 0, 0, 0, 0, 0, 1, 5], "sample sizes of 0 bits"),
      ([0, 0, 0, 4, 0x3F, 0xFF, 0xFF, 0xFF, 5], "a box of type stz2 that ends too early"),
      ([0, 0, 0, 16, 0, 0, 0, 5, 0, 5], "a box of type stz2 that ends too early"),
    ] as [([UInt8], String)] {
      guard case .malformed(message, _)? = error(compact(numbers)) else {
        Issue.record("\(message): \(String(describing: error(compact(numbers))))")
        continue
      }
    }
    #expect(error(avc { $0.frames = [] }) == .unsupported("an MPEG-4 video without a key frame"))
    for file in [
      // A billion entries in a few bytes.
      table("stsz", [0, 1_000_000_000]), table("stts", [1_000_000_000]), table("stsc", [1_000_000_000]),
      table("stco", [0xFFFF_FFFF]), table("stss", [9, 1]),
      // Numbers that lead to no sample, and chunks that don't ascend.
      table("stss", [1, 0]), table("stss", [1, 9]), table("stsc", [2, 1, 0, 1, 1, 1, 1]), table("stsc", [1, 1, 0, 1]),
      table("stsc", [0]),
      avc { $0.entry = File.entry("avc1", 40, 24) },
    ] {
      guard case .malformed? = error(file) else {
        Issue.record("\(String(describing: error(file)))")
        continue
      }
    }
    guard case .truncated? = error(table("stco", [2, 0x7FFF_FFF0, 0x7FFF_FFFF])) else {
      Issue.record("a frame behind the end of the file")
      return
    }
    guard case .limitExceeded? = error(table("stsz", [65 << 20, 3])) else {
      Issue.record("a frame of 65 MB")
      return
    }
  }

  @Test("tables whose numbers have products of 64 bits end nothing but their own reading")
  func hugeProducts() {
    let most = 0xFFFF_FFFF
    var (headers, errors) = (0, 0)
    for (name, numbers) in [
      ("stts", [1, most, most]), ("stts", [2, most, most, most, most]), ("stts", [2, 1, most, most, most]),
      ("stsc", [2, 1, most, 1, most, most, 1]), ("stsc", [1, 1, most, 1]), ("stsz", [most, most]),
      ("ctts", [1, most, 0x7FFF_FFFF]),
    ] {
      let file = CodedMovieSamples.avc {
        $0.replacedTables[name] = Boxes.fullBox(name, numbers.flatMap { Boxes.number($0, 4) })
      }
      for second: Double? in [nil, 1e9] {
        if (try? header(file, at: second)) == nil { errors += 1 } else { headers += 1 }
      }
    }
    // Each gives one or the other.
    #expect(headers > 0 && errors > 0)
  }

  @Test("a large picture in a small file is refused before its decode")
  func large() {
    let entry = File.entry("av01", 60_000, 60_000, CodedHEIFFile.av1C())
    guard case .limitExceeded? = (Result { try header(File(entry, [Frame([1])])) }).failure as? CodecError else {
      Issue.record("60,000 x 60,000 pixels")
      return
    }
  }
}

extension Result {
  fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
