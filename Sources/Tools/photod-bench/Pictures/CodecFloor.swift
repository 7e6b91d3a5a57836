import CPhotodBench
import Foundation

/// What no render can be quicker than that asks the same codecs for a whole decode and an encode: see CPhotodBench.h.
///
/// A centre crop is decoded whole here; a render that leaves out what it does not show can come out below.
final class CodecFloor {
  static let quality = 82
  /// What photod's PNGs are made with.
  private static let compressionLevel: Int32 = 3

  private let handle: OpaquePointer
  private let file: UnsafeMutableRawBufferPointer

  /// `nil` where there is none: where the way named is not one for this picture.
  init?(_ benchPicture: BenchPicture, _ plan: PhotodCommand.Plan, eighths: Int, isPlanar: Bool) throws {
    guard let data = FileManager.default.contents(atPath: benchPicture.photograph.path) else {
      throw BenchError(description: "\(benchPicture.photograph.path) can't be read")
    }
    file = .allocate(byteCount: data.count, alignment: 16)
    data.copyBytes(to: file)
    let handle = photod_codec_floor_create(
      file.baseAddress, file.count,
      photod_codec_floor_options(
        width: UInt32(plan.storedOutput.width), height: UInt32(plan.storedOutput.height), eighths: Int32(eighths),
        planar: isPlanar, makes_png: benchPicture.format == "png", quality: Int32(Self.quality),
        compression_level: Self.compressionLevel))
    guard let handle else {
      file.deallocate()
      return nil
    }
    self.handle = handle
  }

  deinit {
    photod_codec_floor_destroy(handle)
    file.deallocate()
  }

  var contestant: Contestant {
    Contestant { pictures in
      try ProcessUsage.cpuSeconds {
        for _ in 0..<pictures {
          guard photod_codec_floor_decode(self.handle), photod_codec_floor_encode(self.handle) > 0 else {
            throw BenchError(description: "the codecs fail on what they took before")
          }
        }
      }
    }
  }
}
