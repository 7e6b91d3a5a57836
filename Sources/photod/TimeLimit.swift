import Dispatch
import Primitives

/// Whether work ends within a time limit. Work that is late goes on.
///
/// - Parameter begin: begins the work, which calls `done` when it ends.
func ends(within limit: Duration, _ begin: (_ done: @escaping @Sendable () -> Void) -> Void) async -> Bool {
  let (stream, continuation) = AsyncStream.makeStream(of: Bool.self, bufferingPolicy: .bufferingOldest(1))
  begin { continuation.yield(true) }
  DispatchQueue.global().asyncAfter(deadline: .now() + limit.seconds) { continuation.yield(false) }
  return await stream.first { _ in true } ?? false
}
