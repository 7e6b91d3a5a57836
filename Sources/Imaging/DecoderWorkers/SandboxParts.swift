import CPhotodDecoder

/// The parts of a decoder's sandbox: bits of the protocol. A zygote reports the parts that a trial child entered, and
/// each later child enters the same parts or decodes nothing.
package struct SandboxParts: OptionSet, Sendable, Hashable {
  package let rawValue: UInt32

  package init(rawValue: UInt32) { self.rawValue = rawValue }

  private init(_ bit: Int) { rawValue = UInt32(bit) }

  /// `no_new_privs`: no program that the process could start would gain rights.
  static let noNewPrivileges = SandboxParts(DECODER_PART_NO_NEW_PRIVILEGES)
  /// seccomp(2): a list of allowed system calls, without open, socket, exec and fork.
  static let systemCallFilter = SandboxParts(DECODER_PART_SYSTEM_CALL_FILTER)
  /// landlock(7), without rules: no file can be opened.
  static let landlock = SandboxParts(DECODER_PART_LANDLOCK)
  /// setrlimit(2): memory, CPU time, processes, descriptors, core dumps.
  static let resourceLimits = SandboxParts(DECODER_PART_RESOURCE_LIMITS)
  /// PR_SET_PDEATHSIG: the process ends with the zygote.
  static let parentDeath = SandboxParts(DECODER_PART_PARENT_DEATH)

  package static let all: SandboxParts = [
    .noNewPrivileges, .systemCallFilter, .landlock, .resourceLimits, .parentDeath,
  ]

  /// Each part with its name in metrics, logs and `photod decoders`.
  package static let names: [(part: SandboxParts, name: String)] = [
    (.noNewPrivileges, "no-new-privileges"), (.systemCallFilter, "system-call-filter"), (.landlock, "landlock"),
    (.resourceLimits, "resource-limits"), (.parentDeath, "parent-death"),
  ]

  var names: [String] { Self.names.filter { contains($0.part) }.map(\.name) }
}

/// How much of the sandbox a codec needs. The raw values are those of the setting `decoders.sandbox`.
package enum SandboxRequirement: String, Sendable, CaseIterable {
  /// Every part.
  case full
  /// Every part except Landlock, which many kernels and containers lack. The filter denies all that Landlock does.
  case filter
  /// The parts that the kernel has.
  case optional

  package var parts: SandboxParts {
    switch self {
    case .full: .all
    case .filter: SandboxParts.all.subtracting(.landlock)
    case .optional: []
    }
  }
}
