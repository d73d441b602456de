-- Finds passages of the transaction's org by an index of their words, as the owner of the tables; see passage_words.py.
--
-- All passages of an org have its mark among their words; every 8th has the mark with an 8, every 64th that with a 64
-- (webapp/search/word_rows.py). A term that 40 passages of the smaller sample have is common: of these only a sample is
-- looked up, since a bitmap of all that have it takes the longer the more there are. It is always the same sample.
-- What lies in the bin is hidden, and is neither found nor counted.
--
-- Any other index would be read from end to end, so the functions may use bitmap scans alone. The weights of ts_rank are
-- of stems, of words in the text, in the heading, in the title; it is divided by the logarithm of the length (1).
DO $docmill$ BEGIN
    DROP POLICY IF EXISTS owner_finds_words ON public.chunk_words;
    CREATE POLICY owner_finds_words ON public.chunk_words FOR SELECT TO CURRENT_USER USING (true);

    -- The `best` ones of the first `most` passages that match.
    CREATE OR REPLACE FUNCTION public.docmill_passages_found(wanted tsquery, most integer, best integer)
    RETURNS SETOF uuid
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off SET enable_bitmapscan = on
    AS $function$
    DECLARE
        org uuid := CAST(nullif(current_setting('app.org_id', true), '') AS uuid);
        mark text := chr(448) || replace(CAST(org AS text), '-', '');
        scope tsquery;
        seen integer;
    BEGIN
        IF org IS NULL THEN
            RAISE EXCEPTION 'the transaction is about no org' USING ERRCODE = 'insufficient_privilege';
        END IF;
        SELECT count(*) INTO seen FROM (
            SELECT 1 FROM public.chunk_words AS c
            WHERE c.words @@ (wanted && CAST(mark || '64' AS tsquery)) AND NOT c.hidden LIMIT most
        ) AS few;
        scope := CAST(mark || CASE WHEN seen < 40 THEN '' WHEN seen < most THEN '8' ELSE '64' END AS tsquery);
        RETURN QUERY
            SELECT found.chunk_id FROM (
                SELECT c.chunk_id, c.words FROM public.chunk_words AS c
                WHERE c.words @@ (wanted && scope) AND c.org_id IS NOT DISTINCT FROM org AND NOT c.hidden
                LIMIT most
            ) AS found
            ORDER BY ts_rank('{0.2, 0.4, 0.4, 0.4}', found.words, wanted, 1) DESC, found.chunk_id LIMIT best;
    END $function$;

    -- The `best` passages with some of the terms, of each of which `most` passages are looked up. What few passages have
    -- tells more, so common terms are left out, unless no other one finds anything. To read the words of a passage takes
    -- longest, so that is done for the best ones alone.
    CREATE OR REPLACE FUNCTION public.docmill_passages_with_some(wanted tsquery[], most integer, best integer)
    RETURNS SETOF uuid
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off SET enable_bitmapscan = on
    AS $function$
    DECLARE
        org uuid := CAST(nullif(current_setting('app.org_id', true), '') AS uuid);
        mark text := chr(448) || replace(CAST(org AS text), '-', '');
        term tsquery;
        seen integer;
        terms tsquery[] := '{}';
        common tsquery[] := '{}';
        anything tsquery := '';
    BEGIN
        IF org IS NULL THEN
            RAISE EXCEPTION 'the transaction is about no org' USING ERRCODE = 'insufficient_privilege';
        END IF;
        FOREACH term IN ARRAY wanted LOOP
            SELECT count(*) INTO seen FROM (
                SELECT 1 FROM public.chunk_words AS c
                WHERE c.words @@ (term && CAST(mark || '64' AS tsquery)) AND NOT c.hidden LIMIT most
            ) AS few;
            IF seen < 40 THEN
                terms := terms || (term && CAST(mark AS tsquery));
            ELSE
                common := common || (term && CAST(mark || CASE WHEN seen < most THEN '8' ELSE '64' END AS tsquery));
            END IF;
            anything := anything || term;
        END LOOP;
        FOR round IN 1 .. 2 LOOP
            RETURN QUERY
                SELECT good.chunk_id FROM (
                    SELECT every.chunk_id, sum(every.worth) AS worth FROM (
                        SELECT found.chunk_id, 1 / ln(2 + count(*) OVER (PARTITION BY one.place)) AS worth
                        FROM unnest(terms) WITH ORDINALITY AS one (term, place) CROSS JOIN LATERAL (
                            SELECT c.chunk_id FROM public.chunk_words AS c
                            WHERE c.words @@ one.term AND c.org_id IS NOT DISTINCT FROM org AND NOT c.hidden LIMIT most
                        ) AS found
                    ) AS every
                    GROUP BY every.chunk_id ORDER BY worth DESC, every.chunk_id LIMIT best
                ) AS good CROSS JOIN LATERAL (
                    -- One by one: a join might read the whole table.
                    SELECT ts_rank('{0.2, 0.4, 0.4, 0.4}', c.words, anything, 1) AS how_well
                    FROM public.chunk_words AS c WHERE c.chunk_id = good.chunk_id OFFSET 0
                ) AS ranked
                ORDER BY good.worth * (1 + ranked.how_well) DESC, good.chunk_id;
            EXIT WHEN FOUND;
            terms := common;
        END LOOP;
    END $function$;

    -- In how many passages each of these is; roughly, where they are many.
    CREATE OR REPLACE FUNCTION public.docmill_passages_counted(wanted tsquery[])
    RETURNS integer[]
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off SET enable_bitmapscan = on
    AS $function$
    DECLARE
        org uuid := CAST(nullif(current_setting('app.org_id', true), '') AS uuid);
        mark text := chr(448) || replace(CAST(org AS text), '-', '');
        term tsquery;
        seen integer;
        counts integer[] := '{}';
    BEGIN
        IF org IS NULL THEN
            RAISE EXCEPTION 'the transaction is about no org' USING ERRCODE = 'insufficient_privilege';
        END IF;
        FOREACH term IN ARRAY wanted LOOP
            SELECT 64 * count(*) INTO seen FROM (
                SELECT 1 FROM public.chunk_words AS c
                WHERE c.words @@ (term && CAST(mark || '64' AS tsquery)) AND NOT c.hidden LIMIT 40
            ) AS few;
            IF seen < 64 * 40 THEN
                SELECT count(*) INTO seen FROM public.chunk_words AS c
                WHERE c.words @@ (term && CAST(mark AS tsquery)) AND c.org_id IS NOT DISTINCT FROM org AND NOT c.hidden;
            END IF;
            counts := counts || seen;
        END LOOP;
        RETURN counts;
    END $function$;

    REVOKE ALL ON FUNCTION public.docmill_passages_found(tsquery, integer, integer) FROM PUBLIC;
    REVOKE ALL ON FUNCTION public.docmill_passages_with_some(tsquery[], integer, integer) FROM PUBLIC;
    REVOKE ALL ON FUNCTION public.docmill_passages_counted(tsquery[]) FROM PUBLIC;
END $docmill$
