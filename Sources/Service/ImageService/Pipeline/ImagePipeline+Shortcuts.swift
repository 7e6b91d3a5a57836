// Final frames that are made without the original's picture: from a thumbnail, a derivative or a finished JPEG.

import ImageCodec
import PhotoModel
import Primitives

extension ImagePipeline {
  /// Queues a step that makes a job's final frame from a source that costs less than the original's picture. If that
  /// source can't be used, the job continues with `orElse`.
  ///
  /// - Parameters:
  ///   - source: the source that `make` reads.
  ///   - mayFailToEncode: the job also continues with `orElse` if the encoder can't make the frame.
  func queueShortcut(
    _ job: RenderJob, bytes: Int, from source: any ByteSource, mayFailToEncode: Bool = false,
    make: @escaping @Sendable (_ stepBegan: ContinuousClock.Instant) throws(ImageServiceError) -> ImageFrame,
    orElse: @escaping @Sendable () throws(ImageServiceError) -> Void
  ) {
    queue(job, bytes: bytes) { [self] reservation throws(ImageServiceError) in
      let began = now()
      do throws(ImageServiceError) {
        let frame = try make(began)
        if !source.isUnchanged { throw .originalChanged }
        finish(job, frame) { reservation.split(off: $0) }
      } catch {
        guard case .codec(let reason) = error, reason.isOfFile || (mayFailToEncode && reason.isOfEncoding) else {
          throw error
        }
        job.addWorkTime(began.duration(to: now()))
        try orElse()
      }
    }
  }
}

extension CodecError {
  /// Whether the encoder could not make the picture.
  fileprivate var isOfEncoding: Bool {
    if case .encodingFailed = self { true } else { false }
  }
}
