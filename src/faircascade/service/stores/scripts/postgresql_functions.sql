-- Every change is one call of a function, so it happens as a whole or not at all, and calling it
-- again changes nothing. Names end in a digest of this text, $v, so that services of several
-- releases can use one store.
--
-- Transactions must be READ COMMITTED: each statement of a function then sees what was committed
-- before it. Who changes a user locks their row first; several are locked in the order of their names,
-- and cohorts after them likewise.

-- Refuses to work on tables that were emptied, or that are those of another store.
CREATE OR REPLACE FUNCTION guard_$v(store_id text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM store WHERE id = store_id) THEN
    RAISE EXCEPTION 'the store is not there' USING ERRCODE = 'FC001';
  END IF;
  RETURN true;
END $$;

-- Says that events are about to be added, until the transaction ends. All of them will have
-- higher numbers than the one that the lock names, modulo 2^31.
CREATE OR REPLACE FUNCTION announce_events_$v() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(
    'event_numbers'::regclass::oid::bigint::bit(32)::int, (last_value & 2147483647)::int)
  FROM event_numbers;
END $$;

-- Returns the number up to which no more events can appear. The last number is read first: who
-- announces events only after that gets higher ones; a lock that names one seems to be far behind.
CREATE OR REPLACE FUNCTION settled_events_$v() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  last bigint;
  behind bigint;
BEGIN
  SELECT last_value INTO last FROM event_numbers;
  SELECT max((last - objid::bigint) & 2147483647) INTO behind FROM pg_locks
  WHERE locktype = 'advisory' AND objsubid = 2 AND classid = 'event_numbers'::regclass::oid
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND (last - objid::bigint) & 2147483647 < 1073741824;
  RETURN last - coalesce(behind, 0);
END $$;

CREATE OR REPLACE FUNCTION events_$v(store_id text, after_number bigint, most int)
RETURNS TABLE (number bigint, "time" float8, answered boolean, slots bytea, note bytea) LANGUAGE plpgsql AS $$
DECLARE
  settled bigint;
BEGIN
  PERFORM guard_$v(store_id);
  settled := settled_events_$v();
  RETURN QUERY SELECT e.number, e.time, e.answered, e.slots, e.note FROM events e
    WHERE e.number > after_number AND e.number <= settled ORDER BY e.number LIMIT most;
END $$;

CREATE OR REPLACE FUNCTION changes_$v(store_id text, after_number bigint, most int)
RETURNS TABLE (number bigint, body bytea) LANGUAGE plpgsql AS $$
DECLARE
  settled bigint;
BEGIN
  PERFORM guard_$v(store_id);
  settled := settled_events_$v();
  RETURN QUERY SELECT c.number, c.body FROM changes c
    WHERE c.number > after_number AND c.number <= settled ORDER BY c.number LIMIT most;
END $$;

-- Numbers the next slates of users, given in the order of their names, and returns the last number
-- of each.
CREATE OR REPLACE FUNCTION begin_round_$v(
  store_id text, given_names bytea[], slates bigint[], with_accounts boolean
) RETURNS TABLE (
  name bytea, rounds bigint, sums bytea, slots int[], units bigint[]
) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM guard_$v(store_id);
  RETURN QUERY
    WITH numbered AS (
      INSERT INTO users AS u (name, rounds)
      SELECT g.name, g.slates FROM unnest(given_names, slates) AS g (name, slates)
      ON CONFLICT ON CONSTRAINT users_pkey DO UPDATE SET rounds = u.rounds + excluded.rounds
      RETURNING u.name, u.rounds, u.sums
    )
    SELECT n.name, n.rounds, array_send(n.sums), a.slots, a.units FROM numbered n LEFT JOIN LATERAL (
      SELECT array_agg(o.slot) AS slots, array_agg(o.units) AS units FROM accounts o
      WHERE o.name = n.name
    ) a ON with_accounts;
END $$;

-- Keeps slates that are handed out, and counts them. Accounts come by user and slot. Returns false
-- if that was done before.
CREATE OR REPLACE FUNCTION record_$v(
  store_id text, ids bytea[], names bytea[], rounds bigint[], times float8[], slates bytea[],
  features bytea[], notes bytea[], event_notes bytea[], account_names bytea[], account_slots int[], account_units bigint[],
  logged bytea[] -- changes, if they are logged
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM guard_$v(store_id), announce_events_$v();
  INSERT INTO users AS u (name, rounds)
    SELECT g.name, max(g.round) FROM unnest(names, rounds) AS g (name, round)
    GROUP BY g.name ORDER BY g.name
    ON CONFLICT (name) DO UPDATE SET rounds = excluded.rounds WHERE u.rounds < excluded.rounds;
  INSERT INTO impressions (id, name, round, time, slots, features, note)
    SELECT * FROM unnest(ids, names, rounds, times, slates, features, notes) ON CONFLICT (id) DO NOTHING;
  IF NOT FOUND THEN RETURN false; END IF; -- called again: the first reply was lost
  INSERT INTO accounts AS a (name, slot, units)
    SELECT * FROM unnest(account_names, account_slots, account_units)
    ON CONFLICT (name, slot) DO UPDATE SET units = a.units + excluded.units;
  INSERT INTO events (time, answered, slots, note)
    SELECT g.time, false, g.slots, g.note
    FROM unnest(times, slates, event_notes) WITH ORDINALITY AS g (time, slots, note, place)
    ORDER BY g.place;
  INSERT INTO changes (body)
    SELECT g.body FROM unnest(logged) WITH ORDINALITY AS g (body, place) ORDER BY g.place;
  RETURN true;
END $$;

-- Applies updates in order, each at most once: answer, sums, account and event change together.
-- Refunds and cohorts come by the number of their update.
-- Increments come one after the other, `size` numbers for each. Returns values of `UpdateOutcome`.
CREATE OR REPLACE FUNCTION learn_$v(
  store_id text, ids bytea[], answers bytea[], seen int[], said bytea[], size int,
  increments float8[], times float8[], clicked_slots bytea[], event_notes bytea[],
  refund_of int[], refund_slots int[], refund_units bigint[],
  cohort_of int[], cohort_names bytea[],
  logged bytea[] -- changes, if they are logged
) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  outcomes text[] := '{}';
  who bytea;
  known record;
BEGIN
  PERFORM guard_$v(store_id), announce_events_$v();
  PERFORM FROM users u
    WHERE u.name IN (SELECT i.name FROM impressions i WHERE i.id = ANY (ids))
    ORDER BY u.name FOR UPDATE;
  IF cardinality(cohort_of) > 0 THEN
    INSERT INTO cohorts (name, slates)
      SELECT DISTINCT g.name, 0 FROM unnest(cohort_names) AS g (name) ORDER BY g.name
      ON CONFLICT (name) DO NOTHING;
    PERFORM FROM cohorts c WHERE c.name = ANY (cohort_names) ORDER BY c.name FOR UPDATE;
  END IF;
  FOR n IN 1 .. cardinality(ids) LOOP
    UPDATE impressions i SET clicked = answers[n], examined = seen[n], details = said[n]
      WHERE i.id = ids[n] AND i.clicked IS NULL RETURNING i.name INTO who;
    IF FOUND THEN
      UPDATE users u SET sums = ARRAY(
        SELECT coalesce(old, 0) + coalesce(more, 0)
        FROM unnest(u.sums, increments[(n - 1) * size + 1 : n * size]) AS t (old, more)
      ) WHERE u.name = who;
      IF cardinality(cohort_of) > 0 THEN
        UPDATE cohorts c SET slates = c.slates + 1, sums = ARRAY(
          SELECT coalesce(old, 0) + coalesce(more, 0)
          FROM unnest(c.sums, increments[(n - 1) * size + 1 : n * size]) AS t (old, more)
        ) WHERE c.name IN (
          SELECT g.name FROM unnest(cohort_of, cohort_names) AS g (of, name) WHERE g.of = n
        );
      END IF;
      UPDATE accounts a SET units = a.units - g.units
        FROM unnest(refund_of, refund_slots, refund_units) AS g (of, slot, units)
        WHERE g.of = n AND a.name = who AND a.slot = g.slot;
      INSERT INTO events (time, answered, slots, note)
        VALUES (times[n], true, clicked_slots[n], event_notes[n]);
      IF cardinality(logged) > 0 THEN INSERT INTO changes (body) VALUES (logged[n]); END IF;
      outcomes := outcomes || 'learned'::text;
    ELSE
      SELECT (i.clicked, i.examined, i.details) = (answers[n], seen[n], said[n]) AS same INTO known
        FROM impressions i WHERE i.id = ids[n];
      outcomes := outcomes || CASE
        WHEN NOT FOUND THEN 'unknown' WHEN known.same THEN 'repeated' ELSE 'conflict'
      END;
    END IF;
  END LOOP;
  RETURN outcomes;
END $$;

-- Brings in users who are not there, in the order of their names: `size` sums for each.
CREATE OR REPLACE FUNCTION put_users_$v(
  store_id text, names bytea[], slates bigint[], known float8[], size int,
  logged bytea[] -- changes, if they are logged
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM guard_$v(store_id), announce_events_$v();
  WITH added AS (
    INSERT INTO users AS u (name, rounds, sums)
    SELECT g.name, g.slates, known[(g.place - 1) * size + 1 : g.place * size]
    FROM unnest(names, slates) WITH ORDINALITY AS g (name, slates, place)
    ON CONFLICT (name) DO NOTHING RETURNING u.name
  )
  INSERT INTO changes (body)
    SELECT g.body FROM unnest(names, logged) AS g (name, body) JOIN added a ON a.name = g.name
    WHERE g.body IS NOT NULL;
END $$;

-- Forgets a user. All that is kept of one is written after their row was locked.
CREATE OR REPLACE FUNCTION erase_$v(store_id text, who bytea, change bytea) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM guard_$v(store_id), announce_events_$v();
  DELETE FROM users WHERE name = who;
  IF NOT FOUND THEN RETURN false; END IF;
  DELETE FROM impressions WHERE name = who;
  DELETE FROM accounts WHERE name = who;
  IF change IS NOT NULL THEN INSERT INTO changes (body) VALUES (change); END IF;
  RETURN true;
END $$;

-- Keeps counts up to a cursor; returns false if later ones are kept.
CREATE OR REPLACE FUNCTION keep_counts_$v(store_id text, up_to bigint, counted bytea)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM guard_$v(store_id);
  INSERT INTO counts AS c (cursor, body) VALUES (up_to, counted)
    ON CONFLICT (one) DO UPDATE SET cursor = excluded.cursor, body = excluded.body
    WHERE excluded.cursor >= c.cursor;
  RETURN FOUND;
END $$;

-- Drops some of the oldest events, if they are counted and others had time to read them.
CREATE OR REPLACE FUNCTION drop_events_$v(store_id text, reading_seconds float8, most int)
RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  dropped int;
BEGIN
  PERFORM guard_$v(store_id);
  WITH oldest AS (
    SELECT e.number, e.added FROM events e WHERE e.number <= (SELECT cursor FROM counts)
    ORDER BY e.number LIMIT most FOR UPDATE SKIP LOCKED
  )
  DELETE FROM events e USING oldest o
    WHERE e.number = o.number AND o.added < clock_timestamp() - make_interval(secs => reading_seconds);
  GET DIAGNOSTICS dropped = ROW_COUNT;
  RETURN dropped;
END $$;

-- Drops some of the impressions handed out before a time; those that are being answered wait.
CREATE OR REPLACE FUNCTION expire_$v(store_id text, before float8, most int) RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
  dropped int;
BEGIN
  PERFORM guard_$v(store_id);
  DELETE FROM impressions WHERE id = ANY (ARRAY(
    SELECT i.id FROM impressions i WHERE i.time < before
    ORDER BY i.time LIMIT most FOR UPDATE SKIP LOCKED
  ));
  GET DIAGNOSTICS dropped = ROW_COUNT;
  RETURN dropped;
END $$;
