import ImageCodec
import PhotoFixtures
import PhotoModel
import Testing

/// Movies whose samples are described beside them, and whose `moov` does not say how long they are.
@Suite("Durations of fragmented movies")
struct FragmentedMovieTests {
  typealias File = CodedMovieFile

  /// Frames of a second each.
  private func movie(_ frames: Int, perFragment count: Int, _ change: (inout File) -> Void = { _ in }) -> File {
    let list = (0..<frames).map { _ in File.Frame([UInt8](repeating: 7, count: 100)) }
    return File(CodedMovieSamples.avcEntry, list) {
      ($0.framesPerFragment, $0.statedSeconds) = (count, 0)
      change(&$0)
    }
  }

  @Test(
    "the duration is that of all fragments, with an index and without", arguments: [1, 4, 50],
    [nil, .ofAll, .ofEach, .atEnd] as [CodedMovieFile.FragmentIndex?])
  func duration(_ framesPerFragment: Int, _ index: File.FragmentIndex?) throws {
    for firstTick in [0, 1230] {
      let file = movie(30, perFragment: framesPerFragment) { ($0.fragmentIndex, $0.firstTick) = (index, firstTick) }
      #expect(try header(file.bytes).durationSeconds == 30)
    }
  }

  @Test("what `mvhd` states counts if it is more", arguments: [(10, 30.0), (45, 45.0)])
  func stated(_ stated: Int, _ seconds: Double) throws {
    #expect(try header(movie(30, perFragment: 4) { $0.statedSeconds = stated }.bytes).durationSeconds == seconds)
  }

  @Test("of many fragments few are read, and an index gives the exact duration")
  func many() throws {
    for index in [nil, .ofAll, .ofEach, .atEnd] as [File.FragmentIndex?] {
      let bytes = movie(2000, perFragment: 1) { $0.fragmentIndex = index }.bytes
      let source = CountingSource(bytes)
      let seconds = try MediaHeader.read(from: source, limits: CodecLimits()).durationSeconds
      let isExact = index == .ofAll || index == .atEnd
      #expect(isExact ? seconds == 2000 : (1900...2100).contains(seconds), "\(String(describing: index)): \(seconds)")
      #expect(source.reads <= 64, "\(source.reads) reads")
    }
  }

  @Test("a movie that ends in a fragment, or in an index, has the duration of what is before")
  func damaged() throws {
    for index in [nil, .ofAll, .ofEach, .atEnd] as [File.FragmentIndex?] {
      let bytes = movie(30, perFragment: 4) { $0.fragmentIndex = index }.bytes
      for length in stride(from: bytes.count / 3, to: bytes.count, by: 61) {
        let seconds = try header(Array(bytes.prefix(length))).durationSeconds
        #expect((4...30).contains(seconds), "\(length) bytes of \(String(describing: index)): \(seconds)")
      }
    }
  }
}
