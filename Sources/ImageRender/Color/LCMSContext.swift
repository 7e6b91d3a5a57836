// Little CMS behind Swift types. Each profile and each transform has a context of its own, so that what goes wrong is told
// to whoever asked, and nothing is ever printed.

import CLCMS2
import Synchronization

/// Why a profile is of no use.
struct ProfileFault: Error {
  let reason: String
}

/// A context of Little CMS, with the first of its complaints.
final class LCMSContext: @unchecked Sendable {
  /// Because: Little CMS hands this to one thread at a time while something is made; a transform only reads.
  let pointer: cmsContext
  private let complaints: Complaints

  private final class Complaints: Sendable {
    let first = Mutex<String?>(nil)
  }

  /// - Throws: ``ProfileFault`` where there is no memory for one.
  init() throws(ProfileFault) {
    complaints = Complaints()
    // Unretained: this object outlives its context.
    guard let pointer = cmsCreateContext(nil, Unmanaged.passUnretained(complaints).toOpaque()) else {
      throw ProfileFault(reason: "out of memory")
    }
    self.pointer = pointer
    cmsSetLogErrorHandlerTHR(pointer) { context, _, text in
      guard let context, let text, let owner = cmsGetContextUserData(context) else { return }
      let complaints = Unmanaged<Complaints>.fromOpaque(owner).takeUnretainedValue()
      complaints.first.withLock { if $0 == nil { $0 = String(cString: text) } }
    }
  }

  deinit { cmsDeleteContext(pointer) }

  /// The first complaint, or what to say where there was none.
  func fault(_ otherwise: String) -> ProfileFault {
    ProfileFault(reason: complaints.first.withLock { $0 } ?? otherwise)
  }
}
