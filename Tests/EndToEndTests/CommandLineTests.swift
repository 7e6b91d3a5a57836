import Foundation
import PhotoFixtures
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// Commands that scripts use, and the files that they write.
@Suite("Commands for scripts", .blocking)
struct CommandLineTests {
  private static let plain = JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 32, height: 24))
  private static let located = JPEGFile {
    $0.exif = EXIFBlock {
      $0.dateTimeOriginal = "2024:05:06 08:30:00"
      ($0.latitude, $0.longitude) = (52.5, 13.4)
    }
  }.encoded(Pixels.orientationCard(width: 40, height: 24))

  private static func daemon() throws -> TestDaemon {
    try TestDaemon {
      try $0.put(plain, "a/plain.jpg")
      try $0.put(located, "located.jpg")
      try $0.put(plain + [0], "tab\there.jpg")
    }
  }

  private static func run(_ daemon: TestDaemon, _ arguments: String...) throws -> (
    status: Int32, output: String, error: String
  ) {
    try TestDaemon.run(arguments + ["--library", daemon.library, "--data", daemon.data])
  }

  /// Throws the reason if the file can't be read.
  private static func content(_ path: String) throws -> [UInt8] { try Array(Data(contentsOf: URL(filePath: path))) }

  @Test("ls prints a line for each asset, by predicate, search, order and limit, also as JSON")
  func list() throws {
    let daemon = try Self.daemon()
    func paths(_ arguments: String...) throws -> [String] {
      let run = try TestDaemon.run(["ls"] + arguments + ["--library", daemon.library, "--data", daemon.data])
      #expect(run.status == 0, "\(run.error)")
      return run.output.split(separator: "\n").map { String($0.split(separator: "\t").last ?? "") }
    }
    #expect(try paths("--sort", "originalFilename") == ["located.jpg", "a/plain.jpg", #"tab\x09here.jpg"#])
    #expect(try paths("pixelWidth == 40") == ["located.jpg"])
    #expect(try paths("--search", "plain") == ["a/plain.jpg"])
    #expect(try paths("--sort", "-originalFilename", "--limit", "1") == [#"tab\x09here.jpg"#])
    let line = try Self.run(daemon, "ls", "pixelWidth == 40").output
    let identifier = try daemon.identifier("located.jpg")
    #expect(line == "\(identifier)\t2024-05-06T08:30:00Z\tpublic.jpeg\t\(Self.located.count)\tlocated.jpg\n")
    let json = try Self.run(daemon, "ls", "pixelWidth == 40", "--json").output
    let object = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
    #expect(object["localIdentifier"] as? String == identifier && object["pixelWidth"] as? Int == 40)
    #expect(object["relativePath"] as? String == "located.jpg" && object["fileSize"] as? Int == Self.located.count)
    let bad = try Self.run(daemon, "ls", "pixelWidth ==")
    #expect(bad.status != 0 && bad.output.isEmpty && !bad.error.isEmpty)
    let none = try Self.run(daemon, "ls", "--limit", "0")
    #expect(none.status == 64 && none.error.contains("Usage: photod ls"), "\(none.error)")
    let wordless = try Self.run(daemon, "ls", "--search", "\"\"")
    #expect(wordless.status != 0 && wordless.error.contains("Error: --search must contain a word"), "\(wordless.error)")
  }

  @Test("get copies a file without its places, or as it is; a failure leaves the output as it was")
  func get() throws {
    let daemon = try Self.daemon()
    let identifier = try daemon.identifier("located.jpg")
    let output = daemon.data + "/copy.jpg"
    #expect(try Self.run(daemon, "get", identifier, "-o", output).status == 0)
    let removed = try Self.content(output)
    #expect(removed.count == Self.located.count && removed != Self.located)
    #expect(try removed == daemon.get("/v1/assets/\(identifier)/data").body)
    let location = try Self.run(daemon, "get", identifier, "-o", output, "--include-location", "--replace")
    #expect(location.status == 0, "\(location.error)")
    #expect(try Self.content(output) == Self.located)
    let piped = try TestDaemon.run(["get", identifier, "-o", "-", "--library", daemon.library, "--data", daemon.data])
    #expect(piped.status == 0 && !piped.output.isEmpty)
    let none = try Self.run(daemon, "get", "none", "-o", output, "--replace")
    #expect(none.status != 0 && none.error.contains("none"))
    try Data([1, 2, 3]).write(to: URL(filePath: daemon.library + "/located.jpg"))
    let changed = try Self.run(daemon, "get", identifier, "-o", output, "--replace")
    #expect(changed.status != 0 && changed.error.contains("located.jpg"))
    #expect(try Self.content(output) == Self.located)
    let names = try FileManager.default.contentsOfDirectory(atPath: daemon.data)
    #expect(!names.contains { $0.hasSuffix(".part") })
  }

  /// Files that a command must not write, with what `get` and `backup` say of them. `LIBRARY` and `DATA` are the folders.
  private static let forbiddenOutputs: [(path: String, get: String, backup: String)] = [
    ("LIBRARY/a/plain.jpg", "is a file in the library", "is not a catalogue"),
    ("LIBRARY/../link/a/plain.jpg", "is a file in the library", "is not a catalogue"),
    ("DATA/catalogue.sqlite", "photod itself uses", "photod itself uses"),
    ("DATA/access.sqlite", "photod itself uses", "photod itself uses"),
    ("DATA/cache/file", "photod itself uses", "photod itself uses"),
  ]

  @Test("no command writes over an original or a file that photod uses, also with --replace")
  func forbiddenOutput() throws {
    let daemon = try Self.daemon()
    let identifier = try daemon.identifier("located.jpg")
    #expect(symlink(daemon.library, daemon.library + "/../link") == 0)
    let catalogue = try Self.content(daemon.data + "/catalogue.sqlite").prefix(16)
    for (pattern, onGet, onBackup) in Self.forbiddenOutputs {
      let path = pattern.replacing("LIBRARY", with: daemon.library).replacing("DATA", with: daemon.data)
      let get = try Self.run(daemon, "get", identifier, "--replace", "-o", path)
      #expect(get.status == 1 && get.error.contains(onGet), "get \(pattern): \(get.error)")
      let backup = try Self.run(daemon, "backup", "--replace", path)
      #expect(backup.status == 1 && backup.error.contains(onBackup), "backup \(pattern): \(backup.error)")
    }
    let input = daemon.library + "/a/plain.jpg"
    let onInput = try TestDaemon.run(["render", input, "--replace", "-o", daemon.library + "/../link/a/plain.jpg"])
    #expect(onInput.status == 1 && onInput.error.contains("is the input"), "\(onInput.error)")
    #expect(try Self.content(input) == Self.plain)
    #expect(try Self.content(daemon.data + "/catalogue.sqlite").prefix(16) == catalogue)
  }

  @Test("an existing file is replaced only with --replace; a folder and a missing one are named as what they are")
  func existingOutput() throws {
    let daemon = try Self.daemon()
    let identifier = try daemon.identifier("located.jpg")
    let (input, output) = (daemon.library + "/a/plain.jpg", daemon.library + "/../out.jpg")
    for command in [["get", identifier], ["render", input]] {
      let common = command[0] == "get" ? ["--library", daemon.library, "--data", daemon.data] : []
      func run(_ arguments: String...) throws -> (status: Int32, output: String, error: String) {
        try TestDaemon.run(command + common + arguments)
      }
      try Data([1, 2, 3]).write(to: URL(filePath: output))
      let refused = try run("-o", output)
      #expect(refused.status == 1 && refused.error.contains("--replace"), "\(refused.error)")
      #expect(try Self.content(output) == [1, 2, 3])
      #expect(try run("-o", output, "--replace").status == 0)
      #expect(try Self.content(output).count > 3)
      let folder = try run("-o", daemon.data)
      #expect(folder.status == 1 && folder.error.contains("\(daemon.data) is a folder"), "\(folder.error)")
      let none = try run("-o", daemon.library + "/../none/out.jpg")
      #expect(none.status == 1 && none.error.hasSuffix("/none/out.jpg: No such file or directory\n"), "\(none.error)")
    }
    let copy = daemon.library + "/copy.sqlite"
    // A former backup is no original.
    for _ in 0..<2 { #expect(try Self.run(daemon, "backup", copy, "--replace").status == 0) }
  }

  @Test("backup replaces only a former catalogue and a former copy of tokens, also if it does not know the library")
  func backupOnAnotherFile() throws {
    let daemon = try Self.daemon()
    _ = try daemon.token(["create"])
    let copy = daemon.library + "/../copy.sqlite"
    let foreign = daemon.library + "/foreign.sqlite"
    func backup(_ path: String) throws -> (status: Int32, output: String, error: String) {
      try TestDaemon.run(["backup", path, "--replace", "--include-tokens", "--data", daemon.data])
    }
    // The second one replaces the first one.
    for _ in 0..<2 { #expect(try backup(copy).status == 0) }
    let tokens = try Self.content(copy + ".access")
    let catalogue = try Self.content(copy)
    // An SQLite database of another program.
    try Data(tokens).write(to: URL(filePath: foreign))
    for path in [foreign, daemon.library + "/a/plain.jpg", copy + ".access"] {
      let before = try Self.content(path)
      let run = try backup(path)
      #expect(run.status == 1 && run.error.contains("\(path) is not a catalogue"), "\(run.error)")
      #expect(try Self.content(path) == before, "\(path)")
    }
    for wrong in [Self.plain, catalogue] {
      try Data(wrong).write(to: URL(filePath: copy + ".access"))
      let run = try backup(copy)
      #expect(run.status == 1 && run.error.contains("\(copy).access is not a copy of tokens"), "\(run.error)")
      #expect(try Self.content(copy + ".access") == wrong)
      #expect(try Self.content(copy) == catalogue)
    }
  }

  /// What a path itself is, such as `S_IFIFO`; 0: there is nothing.
  private static func kind(_ path: String) -> mode_t {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & S_IFMT : 0
  }

  @Test("get and backup replace neither a pipe nor what leads to a device, also with --replace")
  func specialOutput() throws {
    let daemon = try Self.daemon()
    let identifier = try daemon.identifier("located.jpg")
    let base = daemon.library + "/.."
    let (pipe, device, copy) = (base + "/pipe", base + "/device", base + "/copy.sqlite")
    try #require(mkfifo(pipe, 0o600) == 0)
    try #require(mkfifo(copy + ".access", 0o600) == 0)
    // A link, which tests may make and lose without harm.
    try #require(symlink("/dev/null", device) == 0)
    for path in [pipe, device] {
      let before = Self.kind(path)
      for command in [["get", identifier, "--replace", "-o"], ["backup", "--replace"]] {
        let run = try TestDaemon.run(command + [path, "--library", daemon.library, "--data", daemon.data])
        let message = "\(path) is not a regular file; choose another file"
        #expect(run.status == 1 && run.error.contains(message), "\(command[0]): \(run.error)")
        #expect(Self.kind(path) == before, "\(command[0]) \(path)")
      }
    }
    let tokens = try Self.run(daemon, "backup", copy, "--replace", "--include-tokens")
    #expect(tokens.status == 1 && tokens.error.contains("\(copy).access is not a regular file"), "\(tokens.error)")
    #expect(Self.kind(copy) == 0 && Self.kind(copy + ".access") == S_IFIFO)
  }

  @Test("a backup with tokens writes neither of its files if one of them is there already")
  func halfBackup() throws {
    let daemon = try Self.daemon()
    let copy = daemon.library + "/../copy.sqlite"
    let tokens = copy + ".access"
    for (present, missing) in [(copy, tokens), (tokens, copy)] {
      try Data([1, 2, 3]).write(to: URL(filePath: present))
      let refused = try Self.run(daemon, "backup", copy, "--include-tokens")
      #expect(refused.status == 1 && refused.error.contains("\(present) already exists"), "\(refused.error)")
      #expect(try Self.content(present) == [1, 2, 3])
      #expect(Self.kind(missing) == 0)
      unlink(present)
    }
    let both = try Self.run(daemon, "backup", copy, "--include-tokens")
    #expect(both.status == 0, "\(both.error)")
    #expect(Self.kind(copy) == S_IFREG && Self.kind(tokens) == S_IFREG)
  }

  @Test("restore refuses a pipe, also in the place of the tokens, and does not wait for its writer")
  func restoredPipe() throws {
    let folders = try TestDaemon.Folders()
    let copy = folders.base + "/copy.sqlite"
    let places: [(pipe: String, options: [String])] = [(copy, []), (copy + ".access", ["--include-tokens"])]
    for (pipe, options) in places {
      try #require(mkfifo(pipe, 0o600) == 0)
      // Beside a writer, a restore that opens the pipe fails with another reason, instead of waiting forever.
      let writer = open(pipe, O_RDWR | O_CLOEXEC)
      defer { close(writer) }
      let common = ["--library", folders.library, "--data", folders.data]
      let run = try TestDaemon.run(["restore", copy] + options + common)
      let message = "Error: \(pipe) can't be restored: it is not a regular file\n"
      #expect(run.status == 1 && run.error == message, "\(run.error)")
      #expect(!FileManager.default.fileExists(atPath: folders.data))
    }
  }

  @Test("token commands make nothing in a mistyped data folder, and create says which folder it made")
  func mistypedDataFolder() throws {
    let folders = try TestDaemon.Folders()
    func run(_ arguments: [String]) throws -> (status: Int32, output: String, error: String) {
      try TestDaemon.run(["token"] + arguments + ["--library", folders.library, "--data", folders.data])
    }
    let sign = ["sign", "/v1/assets/x/image"]
    for arguments in [["list"], ["revoke", "x"], ["rotate-key"], sign] {
      let refused = try run(arguments)
      #expect(refused.status == 1 && refused.error.contains(folders.data), "\(arguments): \(refused.error)")
      #expect(!FileManager.default.fileExists(atPath: folders.data), "\(arguments)")
    }
    let create = try run(["create"])
    #expect(create.status == 0 && create.error.contains("created the data folder \(folders.data)\n"), "\(create.error)")
    let list = try run(["list"])
    #expect(list.status == 0 && list.output.contains("active"), "\(list.error)")
    let signed = try run(sign)
    #expect(signed.status == 1 && signed.error.contains("photod scan"), "\(signed.error)")
    #expect(!FileManager.default.fileExists(atPath: folders.data + "/catalogue.sqlite"))
  }

  @Test("a command whose output does not fit on the disk fails, with a status that means nothing else")
  func lostOutput() throws {
    let daemon = try Self.daemon()
    let common = ["--library", daemon.library, "--data", daemon.data]
    let commands: [(arguments: [String], status: Int32)] = [
      (["ls"], 1), (["ls", "--json"], 1), (["check"], 2), (["settings"], 1), (["serve", "--print-config"], 1),
      (["token", "list"], 1), (["backup", daemon.library + "/../copy.sqlite"], 1), (["--help"], 1),
    ]
    for (arguments, status) in commands {
      let options = arguments == ["--help"] ? [] : common
      let run = try TestDaemon.run(arguments + options, inShell: "exec \"$@\" >/dev/full")
      #expect(run.status == status, "\(arguments)")
      #expect(run.error.hasSuffix("Error: standard output: No space left on device\n"), "\(arguments): \(run.error)")
    }
  }

  @Test("an argument, a variable or a library path that is not UTF-8 is refused, and no other file is written")
  func malformedText() throws {
    let daemon = try Self.daemon()
    let base = daemon.library + "/.."
    let identifier = try daemon.identifier("located.jpg")
    let malformed = "\"$(printf '\(base)/x\\377.jpg')\""
    func names() throws -> Set<String> { Set(try FileManager.default.contentsOfDirectory(atPath: base)) }
    let before = try names()
    let options = ["--library", daemon.library, "--data", daemon.data]
    let commands: [[String]] = [
      ["backup"] + options, ["export-metadata"] + options, ["get", identifier] + options + ["-o"],
      ["render", daemon.library + "/located.jpg", "-o"],
    ]
    for arguments in commands {
      let run = try TestDaemon.run(arguments, inShell: "exec \"$@\" \(malformed)")
      let message = "Error: argument \(arguments.count + 1) is not UTF-8\n"
      #expect(run.status == 64 && run.error == message, "\(arguments): \(run.error)")
    }
    let variable = try TestDaemon.run(["settings"], inShell: "export PHOTOD_LIBRARY=\(malformed); exec \"$@\"")
    #expect(variable.status == 1 && variable.error.contains("PHOTOD_LIBRARY is not UTF-8"), "\(variable.error)")
    #expect(try names() == before)
    let make = "mkdir \(malformed) && ln -s \(malformed) '\(base)/link' && exec \"$@\""
    let scan = try TestDaemon.run(["scan", "--library", base + "/link", "--data", base + "/new"], inShell: make)
    #expect(scan.status == 1 && scan.error.contains("is not UTF-8"), "\(scan.error)")
  }

  @Test("get says in words why it can't open an original")
  func missingOriginal() throws {
    let folders = try TestDaemon.Folders()
    let common = ["--library", folders.library, "--data", folders.data]
    try TestDaemon.Files(root: folders.library).put(Self.plain, "a.jpg")
    try TestDaemon.succeed(["scan"] + common)
    let listed = try TestDaemon.run(["ls"] + common).output
    let identifier = try #require(listed.split(separator: "\t").first.map(String.init))
    unlink(folders.library + "/a.jpg")
    let run = try TestDaemon.run(["get", identifier, "-o", folders.base + "/out.jpg"] + common)
    let message = "Error: a.jpg: the file is missing, or its path leads out of the library\n"
    #expect(run.status == 1 && run.error == message, "\(run.error)")
  }

  @Test("render names what is no regular file; a wrong option brings the usage of the command")
  func unusableInput() throws {
    let folders = try TestDaemon.Folders()
    let output = folders.base + "/out.jpg"
    let folder = try TestDaemon.run(["render", folders.library, "-o", output])
    #expect(folder.status == 1 && folder.error.contains("library is not a regular file"), "\(folder.error)")
    for arguments in [
      ["render", folders.library, "-o", output, "--quality", "0"], ["ls", "--set", "timeZone"],
      ["token", "create", "--expires", "2020-01-01T00:00:00Z"],
    ] {
      let run = try TestDaemon.run(arguments)
      let usage = "Usage: photod \(arguments[0])"
      #expect(run.status == 64 && run.error.contains(usage), "\(arguments): \(run.error)")
    }
  }

  /// The words of a command line, and what bash offers for the last one in a folder with `My Photos` and `My.json`.
  private static let completions: [(words: [String], offered: [String])] = [
    (["serve", "--library", "M"], ["My Photos"]), (["scan", "--data", "M"], ["My Photos"]),
    (["serve", "--config", "M"], ["My Photos", "My.json"]), (["import", "takeout", "M"], ["My Photos"]),
    (["export-metadata", "M"], ["My Photos"]), (["backup", "M"], ["My Photos", "My.json"]),
    (["restore", "M"], ["My Photos", "My.json"]), (["get", "x", "-o", "M"], ["My Photos", "My.json"]),
    (["render", "M"], ["My Photos", "My.json"]), (["render", "x", "--output", "M"], ["My Photos", "My.json"]),
    (["serve", "--log-level", "w"], ["warning"]), (["token", "create", "--scope", "w"], ["write"]),
    (["settings", "--format", "f"], ["file"]),
  ]

  @Test("bash completes the arguments that are paths, and the words of options")
  func completion() throws {
    let folders = try TestDaemon.Folders()
    try TestDaemon.Files(root: folders.library).put(Self.plain, "My Photos/a.jpg")
    try TestDaemon.Files(root: folders.library).put([], "My.json")
    // The variables are those that bash sets for a completion.
    let script = #"""
      eval "$("$0" --generate-completion-script bash)" && cd "$1" && shift
      COMP_WORDS=(photod "$@") COMP_CWORD=$# COMP_LINE="photod $*"
      COMP_POINT=${#COMP_LINE}
      _photod photod "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
      printf '%s\n' "${COMPREPLY[@]}"
      """#
    for (words, offered) in Self.completions {
      let run = try runToEnd("/bin/bash", ["-c", script, TestDaemon.binary, folders.library] + words)
      let lines = String(decoding: run.output, as: UTF8.self).split(separator: "\n").map(String.init)
      #expect(lines.sorted() == offered, "\(words): \(lines) \(run.error)")
    }
  }

  @Test("export-metadata names the folder that it can't make, and makes none without a catalogue")
  func exportFolder() throws {
    let folders = try TestDaemon.Folders()
    let target = folders.base + "/sidecars"
    let none = try TestDaemon.run(["export-metadata", target, "--library", folders.library, "--data", folders.data])
    #expect(none.status == 1 && !FileManager.default.fileExists(atPath: target), "\(none.error)")
    let daemon = try Self.daemon()
    let folder = daemon.library + "/a/plain.jpg/sidecars"
    let run = try Self.run(daemon, "export-metadata", folder)
    #expect(run.status == 1 && run.error == "Error: \(folder): Not a directory\n", "\(run.error)")
  }
}
