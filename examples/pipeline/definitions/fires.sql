CREATE MATERIALIZED VIEW fires AS
SELECT timestamp, id, Fire.area, Fire.measuredTemp FROM found WHERE type = 'Fire';

CREATE MATERIALIZED VIEW late AS
SELECT type, timestamp, rejected.problem, rejected.attributes FROM found WHERE rejected IS NOT NULL;
