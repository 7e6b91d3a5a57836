/// The index's tables. There are no migrations: an index of another version is removed together with its entries.
enum DiskIndexSchema {
  static let version = 2

  static let tables = """
    CREATE TABLE entry (
      kind INTEGER NOT NULL,
      epoch INTEGER NOT NULL,
      -- The key, as two numbers whose bits are its halves. The first is that of the subject.
      high INTEGER NOT NULL,
      low INTEGER NOT NULL,
      -- As counted against the capacity.
      bytes INTEGER NOT NULL,
      -- Counts uses, not time: the larger, the later.
      lastUse INTEGER NOT NULL,
      PRIMARY KEY (kind, epoch, high, low)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX entryByUse ON entry (kind, epoch, lastUse, bytes);

    -- Summing up a million rows takes a tenth of a second; changed in the transaction that changes the rows.
    CREATE TABLE total (
      kind INTEGER NOT NULL,
      epoch INTEGER NOT NULL,
      entries INTEGER NOT NULL,
      bytes INTEGER NOT NULL,
      PRIMARY KEY (kind, epoch)
    ) STRICT, WITHOUT ROWID;

    -- Where the machine's start is noted in which the index was opened; empty when it was closed. See FolderSweep.
    CREATE TABLE opened (
      boot TEXT NOT NULL
    ) STRICT;
    INSERT INTO opened VALUES ('never');
    """
}
