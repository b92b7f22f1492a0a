-- One ledger of fugu, in the schema "fugu" of a database: the bytes of its file, an event in each row, and one row that
-- says where they end. Made by the role that owns it; a role that charges may read, and call the two functions.

CREATE SCHEMA fugu;

CREATE TABLE fugu.event (
    start bigint PRIMARY KEY,  -- the byte of the file at which it would begin
    content bytea NOT NULL     -- the line HASH LENGTH [seq, at, kind, body, previous], and what is attached to it
);
ALTER TABLE fugu.event ALTER COLUMN content SET STORAGE EXTERNAL;

CREATE TABLE fugu.head (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    base bigint NOT NULL,        -- the byte at which the log begins
    seq bigint NOT NULL,         -- how many events there are
    hash text NOT NULL,          -- that of the last one
    ends bigint NOT NULL,        -- the byte behind it
    checkpoint bigint NOT NULL   -- where the last checkpoint begins, 0 for none
);

-- The head, held by the caller until the transaction ends: whoever writes takes it first.
CREATE FUNCTION fugu.locked() RETURNS SETOF fugu.head
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT * FROM fugu.head FOR UPDATE $$;

-- One more event, which must follow from the last. Nothing else changes what is there.
CREATE FUNCTION fugu.append(place bigint, added bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    was fugu.head;
    line bytea := substring(added FOR position('\x0a'::bytea IN added));
    parts text[];
    event json;
BEGIN
    SELECT * INTO STRICT was FROM fugu.head FOR UPDATE;
    parts := regexp_match(convert_from(line, 'UTF8'), '^([0-9a-f]{64}) ([0-9]{1,12}) (\[.*\])\n$');
    event := parts[3]::json;
    IF (place = was.ends
        AND encode(sha256(convert_to(parts[3], 'UTF8')), 'hex') = parts[1]
        AND (event ->> 0)::bigint = was.seq + 1
        AND (event ->> 4) = was.hash
        AND octet_length(added) = octet_length(line) + parts[2]::bigint + (parts[2]::bigint > 0)::int
    ) IS NOT TRUE  -- nor where a part is missing
    THEN
        RAISE EXCEPTION 'this event does not follow from the last one' USING ERRCODE = 'FU001';
    END IF;
    INSERT INTO fugu.event VALUES (place, added);
    UPDATE fugu.head SET seq = was.seq + 1, hash = parts[1], ends = place + octet_length(added),
        checkpoint = CASE event ->> 2 WHEN 'checkpoint' THEN place ELSE was.checkpoint END;
END $$;

REVOKE ALL ON SCHEMA fugu FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA fugu FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA fugu FROM PUBLIC;
