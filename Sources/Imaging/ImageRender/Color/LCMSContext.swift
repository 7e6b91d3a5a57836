// Wraps Little CMS in Swift types. Each profile and each transform has its own context, so that an error reaches the
// caller that caused it and nothing is printed.

import CLCMS2
import Synchronization

/// Why a profile can't be used.
struct ProfileError: Error {
  let reason: String
}

/// A context of Little CMS, with the first error that it reported.
final class LCMSContext: @unchecked Sendable {
  /// Because: Little CMS uses this on one thread at a time while an object is made; a transform only reads it.
  let pointer: cmsContext
  private let errorLog: ErrorLog

  private final class ErrorLog: Sendable {
    let first = Mutex<String?>(nil)
  }

  /// - Throws: ``ProfileError`` if there is no memory for a context.
  init() throws(ProfileError) {
    errorLog = ErrorLog()
    // Unretained: this object outlives its context.
    guard let pointer = cmsCreateContext(nil, Unmanaged.passUnretained(errorLog).toOpaque()) else {
      throw ProfileError(reason: "out of memory")
    }
    self.pointer = pointer
    cmsSetLogErrorHandlerTHR(pointer) { context, _, text in
      guard let context, let text, let owner = cmsGetContextUserData(context) else { return }
      let errorLog = Unmanaged<ErrorLog>.fromOpaque(owner).takeUnretainedValue()
      errorLog.first.withLock { if $0 == nil { $0 = String(cString: text) } }
    }
  }

  deinit { cmsDeleteContext(pointer) }

  /// The first reported error, or `otherwise` if there was none.
  func error(_ otherwise: String) -> ProfileError {
    ProfileError(reason: errorLog.first.withLock { $0 } ?? otherwise)
  }
}
