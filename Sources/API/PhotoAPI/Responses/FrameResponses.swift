import ImageService

/// Responses prepared from cached frames. Created before the frame cache, which reports evicted frames to it.
package struct FrameResponses: Sendable {
  /// Bytes of the frame cache for each prepared response, so that responses take a small part of the memory of the
  /// frames.
  package static let frameBytesPerResponse = 8 << 10

  let cache: ResponseCache

  /// - Parameter capacity: maximum number of cached responses. Each takes up to 3 KB in addition to its frame.
  package init(capacity: Int) { cache = ResponseCache(capacity: capacity) }

  package func removeResponses(madeFrom frames: [CachedFrame]) { cache.removeResponses(madeFrom: frames) }
}
