/// A codec's state when its zygote was started, for people.
package struct DecoderReport: Sendable, Hashable {
  package enum State: Sendable, Hashable {
    /// With the name and version of the library, and the sandbox that its workers enter.
    case ready(library: String, sandbox: SandboxParts)
    case unavailable(DecoderUnavailability)
  }

  package let codec: DecoderCodec
  package let state: State

  /// One line: the working library and its sandbox, or the missing part and how to install it.
  package var summary: String {
    switch state {
    case .ready(let library, let sandbox):
      let missing = SandboxParts.all.subtracting(sandbox)
      return "\(library); sandbox: "
        + (missing.isEmpty ? "complete" : "without \(missing.names.joined(separator: ", "))")
    case .unavailable(let reason): return reason.summary(codec)
    }
  }
}

extension DecoderUnavailability {
  func summary(_ codec: DecoderCodec) -> String {
    switch self {
    case .notInstalled: "missing: \(codec.programName) is not in the folder of decoders"
    case .notStarting: "not starting: install the package \(codec.libraryPackage)"
    case .otherVersion: "\(codec.programName) is of another version of photod"
    case .sandboxIncomplete(let missing):
      "not used: the kernel lacks \(missing.names.joined(separator: ", ")); see decoders.sandbox"
    case .restarting: "was killed while it started, or ended several times; it is started again after a pause"
    }
  }
}
