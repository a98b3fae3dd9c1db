-- A kept answer as its completion was sent, so that it can be asked for again; and an index to find
-- those whose time is over. What was kept before had only its first choice, and not all of that.

ALTER TABLE kept_answer ADD COLUMN completion json;  -- json, not jsonb: it may hold \u0000
UPDATE kept_answer SET completion = json_build_object(
    'id', id,
    'object', 'chat.completion',
    'created', extract(epoch FROM created_at)::bigint,
    'model', 'ragkit/' || collection,
    'choices', json_build_array(json_build_object(
        'index', 0,
        'message', json_build_object(
            'role', 'assistant',
            'content', answer,
            'refusal', NULL,
            'context', json_build_object('citations', citations, 'refused', refused)
        ),
        'logprobs', NULL,
        'finish_reason', 'stop'
    ))
);
ALTER TABLE kept_answer ALTER COLUMN completion SET NOT NULL;
CREATE INDEX kept_answer_created ON kept_answer (created_at);
