--
-- PostgreSQL database dump
--


-- Dumped from database version 18.4
-- Dumped by pg_dump version 18.4

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET transaction_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: rumor; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA rumor;


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: admission; Type: TABLE; Schema: rumor; Owner: -
--

CREATE TABLE rumor.admission (
    key bytea NOT NULL,
    series text NOT NULL
);


--
-- Name: collection; Type: TABLE; Schema: rumor; Owner: -
--

CREATE TABLE rumor.collection (
    number integer NOT NULL,
    digest text NOT NULL,
    series text NOT NULL,
    contract text NOT NULL,
    open integer NOT NULL,
    users bigint DEFAULT 10000 NOT NULL
);


--
-- Name: collection_number_seq; Type: SEQUENCE; Schema: rumor; Owner: -
--

ALTER TABLE rumor.collection ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME rumor.collection_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: drop_count; Type: TABLE; Schema: rumor; Owner: -
--

CREATE TABLE rumor.drop_count (
    question integer NOT NULL,
    day integer NOT NULL,
    last integer NOT NULL,
    reports bigint NOT NULL,
    checksum bytea NOT NULL
);


--
-- Name: early_withdrawal; Type: TABLE; Schema: rumor; Owner: -
--

CREATE TABLE rumor.early_withdrawal (
    id bytea NOT NULL,
    question integer NOT NULL,
    day integer NOT NULL
);


--
-- Name: invited; Type: TABLE; Schema: rumor; Owner: -
--

CREATE TABLE rumor.invited (
    person bytea NOT NULL,
    series text NOT NULL
);


--
-- Name: issued; Type: TABLE; Schema: rumor; Owner: -
--

CREATE TABLE rumor.issued (
    person bytea NOT NULL,
    key bytea NOT NULL,
    number integer NOT NULL,
    message bytea NOT NULL
);


--
-- Name: mark; Type: TABLE; Schema: rumor; Owner: -
--

CREATE TABLE rumor.mark (
    number bigint NOT NULL,
    checksum bytea
);


--
-- Name: question; Type: TABLE; Schema: rumor; Owner: -
--

CREATE TABLE rumor.question (
    number integer NOT NULL,
    collection integer NOT NULL,
    id text NOT NULL
);


--
-- Name: question_number_seq; Type: SEQUENCE; Schema: rumor; Owner: -
--

ALTER TABLE rumor.question ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME rumor.question_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: report; Type: TABLE; Schema: rumor; Owner: -
--

CREATE TABLE rumor.report (
    number bigint NOT NULL,
    id bytea NOT NULL,
    question integer NOT NULL,
    day integer,
    report bytea,
    checksum bytea
);
ALTER TABLE ONLY rumor.report ALTER COLUMN report SET STORAGE EXTERNAL;


--
-- Name: report_number_seq; Type: SEQUENCE; Schema: rumor; Owner: -
--

ALTER TABLE rumor.report ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME rumor.report_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: schema_version; Type: TABLE; Schema: rumor; Owner: -
--

CREATE TABLE rumor.schema_version (
    version integer NOT NULL
);


--
-- Name: span; Type: TABLE; Schema: rumor; Owner: -
--

CREATE TABLE rumor.span (
    question integer NOT NULL,
    day integer NOT NULL,
    last integer NOT NULL,
    checksum bytea NOT NULL
);


--
-- Name: summary; Type: TABLE; Schema: rumor; Owner: -
--

CREATE TABLE rumor.summary (
    question integer NOT NULL,
    day integer NOT NULL,
    reports bigint NOT NULL,
    tally bytea NOT NULL,
    checksum bytea
);


--
-- Data for Name: admission; Type: TABLE DATA; Schema: rumor; Owner: -
--

INSERT INTO rumor.admission VALUES ('\x4bf5122f344554c53bde2ebb8cd2b7e3d1600ad631c385a5d7cce23c7785459a', 'club');
INSERT INTO rumor.admission VALUES ('\xdbc1b4c900ffe48d575b5da5c638040125f65db0fe3e24494b76ea986457d986', 'club');


--
-- Data for Name: collection; Type: TABLE DATA; Schema: rumor; Owner: -
--

INSERT INTO rumor.collection OVERRIDING SYSTEM VALUE VALUES (1, '0b1c3e337823630d62598c19bc4f2da9adeff8b13015b39380512afd71b38c0e', 'survey', '{"contact":"old@example.org","name":"Old survey","questions":[{"epsilon":1,"id":"colour","kind":"choice","labels":null,"mechanism":{"domain":3,"name":"randomized-response","truth":"10627480729818066791"},"reports_per_person":1,"retention_days":30,"text":""},{"epsilon":1,"id":"many","kind":"choice","labels":null,"mechanism":{"domain":30,"name":"unary","other":"4961093570831980854","own":"9223372036854775808"},"reports_per_person":1,"retention_days":null,"text":""}],"rumor":1,"series":"survey"}', 1, 10000);
INSERT INTO rumor.collection OVERRIDING SYSTEM VALUE VALUES (2, '8fd2150b70297b3dc7240fe04de666f90e3e29a342fec03cc90a248a4733cf93', 'club', '{"admission":"invited","contact":"old@example.org","name":"Old club","questions":[{"epsilon":1,"id":"colour","kind":"choice","labels":null,"mechanism":{"domain":3,"name":"randomized-response","truth":"10627480729818066791"},"reports_per_person":1,"retention_days":30,"text":""},{"epsilon":1,"id":"many","kind":"choice","labels":null,"mechanism":{"domain":30,"name":"unary","other":"4961093570831980854","own":"9223372036854775808"},"reports_per_person":1,"retention_days":null,"text":""}],"rumor":1,"series":"club"}', 1, 10000);


--
-- Data for Name: drop_count; Type: TABLE DATA; Schema: rumor; Owner: -
--

INSERT INTO rumor.drop_count VALUES (1, 20728, 20728, 7, '\xd45169a0');


--
-- Data for Name: early_withdrawal; Type: TABLE DATA; Schema: rumor; Owner: -
--



--
-- Data for Name: invited; Type: TABLE DATA; Schema: rumor; Owner: -
--



--
-- Data for Name: issued; Type: TABLE DATA; Schema: rumor; Owner: -
--



--
-- Data for Name: mark; Type: TABLE DATA; Schema: rumor; Owner: -
--

INSERT INTO rumor.mark VALUES (24, '\xf7f57cca');


--
-- Data for Name: question; Type: TABLE DATA; Schema: rumor; Owner: -
--

INSERT INTO rumor.question OVERRIDING SYSTEM VALUE VALUES (1, 1, 'colour');
INSERT INTO rumor.question OVERRIDING SYSTEM VALUE VALUES (2, 1, 'many');
INSERT INTO rumor.question OVERRIDING SYSTEM VALUE VALUES (3, 2, 'colour');
INSERT INTO rumor.question OVERRIDING SYSTEM VALUE VALUES (4, 2, 'many');


--
-- Data for Name: report; Type: TABLE DATA; Schema: rumor; Owner: -
--

INSERT INTO rumor.report OVERRIDING SYSTEM VALUE VALUES (8, '\x020a7c91e30725bb191818987340dec6', 2, 20728, '\x2a182100', '\xf91546df');
INSERT INTO rumor.report OVERRIDING SYSTEM VALUE VALUES (9, '\x2bb2cdeead1fd9542789acedceb6da15', 2, 20728, '\x41408508', '\xc4ce84c9');
INSERT INTO rumor.report OVERRIDING SYSTEM VALUE VALUES (10, '\x63b51e9a6a3330e3291aa4d3f6b44c69', 2, 20728, '\xd1782000', '\x7ac3edf5');
INSERT INTO rumor.report OVERRIDING SYSTEM VALUE VALUES (11, '\x68bc23b5950dfa4317f4c8cd5612ec05', 2, 20728, '\x57008a36', '\x034817bb');
INSERT INTO rumor.report OVERRIDING SYSTEM VALUE VALUES (12, '\x8fad34bbb0c1ed095fbf1b50cb0e4878', 2, 20728, '\x8a4c1620', '\x4c25bd23');
INSERT INTO rumor.report OVERRIDING SYSTEM VALUE VALUES (13, '\xd695181821d164770efa8516daf9b75b', 2, 20728, '\x00218202', '\xabe7558a');
INSERT INTO rumor.report OVERRIDING SYSTEM VALUE VALUES (14, '\xf71998fe363b9c29116c80b5eecf33a2', 2, 20728, '\x898a2600', '\x40386789');
INSERT INTO rumor.report OVERRIDING SYSTEM VALUE VALUES (15, '\x04412575067f0bdb6722e31a7ee45744', 1, 20767, '\x02', '\x73626865');
INSERT INTO rumor.report OVERRIDING SYSTEM VALUE VALUES (16, '\x1c9338eb9c4746e1c7c03aa4af28451b', 1, 20767, '\x01', '\x2dc84d47');
INSERT INTO rumor.report OVERRIDING SYSTEM VALUE VALUES (17, '\x7bd7df1a31049cd71ae13cd2097a04ef', 1, 20767, '\x00', '\xdd36d590');
INSERT INTO rumor.report OVERRIDING SYSTEM VALUE VALUES (18, '\xdcc1e3cc830c461dc675bd873d1103b0', 1, 20767, '\x02', '\x8a8e2742');
INSERT INTO rumor.report OVERRIDING SYSTEM VALUE VALUES (19, '\xe57acc10f53c55bd65c8462f1402834e', 1, 20767, '\x01', '\x9fe47b50');
INSERT INTO rumor.report OVERRIDING SYSTEM VALUE VALUES (20, '\x290a8619b6aedf7fbe04cfbba79841f7', 2, 20767, '\x41f0040d', '\x0f878148');
INSERT INTO rumor.report OVERRIDING SYSTEM VALUE VALUES (21, '\x7f5564f0fafd57bfe1d569c9320f06a1', 2, 20767, '\x0a700805', '\xa471f546');
INSERT INTO rumor.report OVERRIDING SYSTEM VALUE VALUES (22, '\xbb0c065ba93dfb8ca17e45bacaaa5527', 2, 20767, '\x800a6c03', '\xe5e4bf6e');
INSERT INTO rumor.report OVERRIDING SYSTEM VALUE VALUES (23, '\xc64b40bd6b04f739d22eede5a843a916', 2, 20767, '\xa026101c', '\x8c36874c');
INSERT INTO rumor.report OVERRIDING SYSTEM VALUE VALUES (24, '\xcd0cf807835179d73cad42fefc8c7682', 2, 20767, '\xaa458009', '\x1afd6e99');
INSERT INTO rumor.report OVERRIDING SYSTEM VALUE VALUES (1, '\x19c887f5fd5e8735d449ba088e83510f', 1, NULL, NULL, NULL);
INSERT INTO rumor.report OVERRIDING SYSTEM VALUE VALUES (2, '\x1a717d2b3f13e89944c36743dca77793', 1, NULL, NULL, NULL);
INSERT INTO rumor.report OVERRIDING SYSTEM VALUE VALUES (3, '\x545b97492c92b2df5f308b19bd5b280c', 1, NULL, NULL, NULL);
INSERT INTO rumor.report OVERRIDING SYSTEM VALUE VALUES (4, '\x5cc3a6551605a0b4e9c3334f5eb5554c', 1, NULL, NULL, NULL);
INSERT INTO rumor.report OVERRIDING SYSTEM VALUE VALUES (5, '\x782f44d2087f7122ee71274d743700e7', 1, NULL, NULL, NULL);
INSERT INTO rumor.report OVERRIDING SYSTEM VALUE VALUES (6, '\x933305f987bcf5fb6c250018e35a6eee', 1, NULL, NULL, NULL);
INSERT INTO rumor.report OVERRIDING SYSTEM VALUE VALUES (7, '\xdcbcbaa9a7fe7a87d60bf64c2691b57a', 1, NULL, NULL, NULL);
INSERT INTO rumor.report OVERRIDING SYSTEM VALUE VALUES (25, '\x4066fe65f640b4adbecce98f474c9fb2', 1, 20768, '\x00', '\xf7b74248');
INSERT INTO rumor.report OVERRIDING SYSTEM VALUE VALUES (26, '\x73c6486e6a5c1897d40af5c75219b5e5', 1, 20768, '\x00', '\xcb1b7b27');
INSERT INTO rumor.report OVERRIDING SYSTEM VALUE VALUES (27, '\xd18582a28dbe3e7cb38e361c95b97fb0', 1, 20768, '\x00', '\x7201289a');
INSERT INTO rumor.report OVERRIDING SYSTEM VALUE VALUES (28, '\x194fccc2a325736e71080e5531d3693d', 2, 20768, '\x0a211000', '\x2e044333');
INSERT INTO rumor.report OVERRIDING SYSTEM VALUE VALUES (29, '\xe99e144bfc65e8f855e5d5bf3c5af53b', 2, 20768, '\x28600100', '\x56907454');
INSERT INTO rumor.report OVERRIDING SYSTEM VALUE VALUES (30, '\xf288cbfdb4925ebcae045769f881a025', 2, 20768, '\x0002302b', '\xcb610c05');
INSERT INTO rumor.report OVERRIDING SYSTEM VALUE VALUES (31, '\x7a62053acefeb07fa1241f6e159fdb10', 3, 20767, '\x01', '\xa4f66f2f');


--
-- Data for Name: schema_version; Type: TABLE DATA; Schema: rumor; Owner: -
--

INSERT INTO rumor.schema_version VALUES (1);
INSERT INTO rumor.schema_version VALUES (2);
INSERT INTO rumor.schema_version VALUES (3);
INSERT INTO rumor.schema_version VALUES (4);
INSERT INTO rumor.schema_version VALUES (5);
INSERT INTO rumor.schema_version VALUES (6);


--
-- Data for Name: span; Type: TABLE DATA; Schema: rumor; Owner: -
--



--
-- Data for Name: summary; Type: TABLE DATA; Schema: rumor; Owner: -
--

INSERT INTO rumor.summary VALUES (1, 20767, 5, '\x010000000000000002000000000000000200000000000000', '\x416e85cc');
INSERT INTO rumor.summary VALUES (2, 20728, 7, '\x040000000000000003000000000000000100000000000000030000000000000002000000000000000100000000000000030000000000000003000000000000000100000000000000010000000000000001000000000000000400000000000000020000000000000002000000000000000300000000000000010000000000000002000000000000000400000000000000030000000000000001000000000000000100000000000000030000000000000000000000000000000300000000000000000000000000000002000000000000000100000000000000010000000000000001000000000000000200000000000000', '\x729efcdb');
INSERT INTO rumor.summary VALUES (2, 20767, 5, '\x010000000000000002000000000000000000000000000000020000000000000000000000000000000200000000000000010000000000000003000000000000000100000000000000020000000000000002000000000000000100000000000000020000000000000003000000000000000300000000000000010000000000000000000000000000000000000000000000020000000000000002000000000000000100000000000000010000000000000001000000000000000100000000000000040000000000000001000000000000000300000000000000030000000000000001000000000000000000000000000000', '\x8e5f8505');


--
-- Name: collection_number_seq; Type: SEQUENCE SET; Schema: rumor; Owner: -
--

SELECT pg_catalog.setval('rumor.collection_number_seq', 2, true);


--
-- Name: question_number_seq; Type: SEQUENCE SET; Schema: rumor; Owner: -
--

SELECT pg_catalog.setval('rumor.question_number_seq', 4, true);


--
-- Name: report_number_seq; Type: SEQUENCE SET; Schema: rumor; Owner: -
--

SELECT pg_catalog.setval('rumor.report_number_seq', 31, true);


--
-- Name: admission admission_pkey; Type: CONSTRAINT; Schema: rumor; Owner: -
--

ALTER TABLE ONLY rumor.admission
    ADD CONSTRAINT admission_pkey PRIMARY KEY (key);


--
-- Name: collection collection_digest_key; Type: CONSTRAINT; Schema: rumor; Owner: -
--

ALTER TABLE ONLY rumor.collection
    ADD CONSTRAINT collection_digest_key UNIQUE (digest);


--
-- Name: collection collection_pkey; Type: CONSTRAINT; Schema: rumor; Owner: -
--

ALTER TABLE ONLY rumor.collection
    ADD CONSTRAINT collection_pkey PRIMARY KEY (number);


--
-- Name: drop_count drop_count_pkey; Type: CONSTRAINT; Schema: rumor; Owner: -
--

ALTER TABLE ONLY rumor.drop_count
    ADD CONSTRAINT drop_count_pkey PRIMARY KEY (question);


--
-- Name: early_withdrawal early_withdrawal_pkey; Type: CONSTRAINT; Schema: rumor; Owner: -
--

ALTER TABLE ONLY rumor.early_withdrawal
    ADD CONSTRAINT early_withdrawal_pkey PRIMARY KEY (id);


--
-- Name: invited invited_pkey; Type: CONSTRAINT; Schema: rumor; Owner: -
--

ALTER TABLE ONLY rumor.invited
    ADD CONSTRAINT invited_pkey PRIMARY KEY (person);


--
-- Name: issued issued_pkey; Type: CONSTRAINT; Schema: rumor; Owner: -
--

ALTER TABLE ONLY rumor.issued
    ADD CONSTRAINT issued_pkey PRIMARY KEY (person, key, number);


--
-- Name: question question_collection_id_key; Type: CONSTRAINT; Schema: rumor; Owner: -
--

ALTER TABLE ONLY rumor.question
    ADD CONSTRAINT question_collection_id_key UNIQUE (collection, id);


--
-- Name: question question_pkey; Type: CONSTRAINT; Schema: rumor; Owner: -
--

ALTER TABLE ONLY rumor.question
    ADD CONSTRAINT question_pkey PRIMARY KEY (number);


--
-- Name: report report_pkey; Type: CONSTRAINT; Schema: rumor; Owner: -
--

ALTER TABLE ONLY rumor.report
    ADD CONSTRAINT report_pkey PRIMARY KEY (number);


--
-- Name: span span_pkey; Type: CONSTRAINT; Schema: rumor; Owner: -
--

ALTER TABLE ONLY rumor.span
    ADD CONSTRAINT span_pkey PRIMARY KEY (question, day);


--
-- Name: summary summary_pkey; Type: CONSTRAINT; Schema: rumor; Owner: -
--

ALTER TABLE ONLY rumor.summary
    ADD CONSTRAINT summary_pkey PRIMARY KEY (question, day);


--
-- Name: report_id; Type: INDEX; Schema: rumor; Owner: -
--

CREATE UNIQUE INDEX report_id ON rumor.report USING btree (id);


--
-- Name: issued issued_person_fkey; Type: FK CONSTRAINT; Schema: rumor; Owner: -
--

ALTER TABLE ONLY rumor.issued
    ADD CONSTRAINT issued_person_fkey FOREIGN KEY (person) REFERENCES rumor.invited(person);


--
-- Name: question question_collection_fkey; Type: FK CONSTRAINT; Schema: rumor; Owner: -
--

ALTER TABLE ONLY rumor.question
    ADD CONSTRAINT question_collection_fkey FOREIGN KEY (collection) REFERENCES rumor.collection(number);


--
-- Name: summary summary_question_fkey; Type: FK CONSTRAINT; Schema: rumor; Owner: -
--

ALTER TABLE ONLY rumor.summary
    ADD CONSTRAINT summary_question_fkey FOREIGN KEY (question) REFERENCES rumor.question(number);


--
-- PostgreSQL database dump complete
--


