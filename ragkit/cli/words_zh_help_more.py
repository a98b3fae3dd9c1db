"""The help of the commands under "More commands" in Chinese: see `ragkit.cli.words_zh_help`.

`ragkit eval`, `ragkit model` and `ragkit tune` stay English.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

MORE: Final[Mapping[str, str]] = {
    # ragkit collections, share
    "Let only these users and groups read a collection or a document.\n\nThe readers of a"
    " document must also be able to read its collection.": (
        "只让这些用户和群组阅读某个文档集或文档。\n\n能读文档的人还必须能读它所在的文档集。"
    ),
    "user:NAME or group:NAME; leave out to show who may read it.": (
        "写作 user:名称 或 group:名称；不写则显示谁可以阅读。"
    ),
    "Collection to share.": "要共享的文档集。",
    "Document to share: its number, file name, title or path.": (
        "要共享的文档：编号、文件名、标题或路径。"
    ),
    "Remove WHO from the readers.": "取消 WHO 的阅读权。",
    "Let everybody in the tenant read it.": "租户中人人可读。",
    "Let only its owner read it.": "只有所有者可读。",
    "Make WHO the owner; '' removes the owner.": "把 WHO 设为所有者；'' 表示没有所有者。",
    "List the collections, their sizes and who may read them.": (
        "列出各个文档集、其内容多少以及谁可以阅读。"
    ),
    "Create a collection; an existing one is left unchanged.": "新建文档集；已有的文档集保持不变。",
    "Rename a collection; documents, conversations and access keys keep referring to it.": (
        "给文档集改名；文档、对话和访问密钥仍指向它。"
    ),
    "Name of the collection.": "文档集的名称。",
    "New name.": "新名称。",
    "Delete a collection and all its documents.": "删除文档集及其中的全部文档。",
    "Declare metadata keys so that filters on them use an index, or list the declared keys.": (
        "声明元数据字段，为过滤建立索引；不给字段则列出已声明的。"
    ),
    "Metadata keys used in filters (default type: text).": (
        "过滤时使用的元数据字段（默认类型：文本）。"
    ),
    "Key to remove from the declared ones (repeatable).": "不再声明的字段，可多次给出。",
    "Set or show how the files of a collection are read and split.\n\nOptions of a collection"
    " take precedence over the settings. Stored files are processed again at the next"
    " `ragkit ingest`.": (
        "设置或显示文档集的文件如何读取和切分。\n\n文档集的选项优先于设置。已有的文件在下次"
        " `ragkit ingest` 时重新处理。"
    ),
    "Options for reading and splitting files.": "读取和切分文件的选项。",
    "Option to reset to the value in the settings (repeatable).": (
        "恢复为按设置处理的选项，可多次给出。"
    ),
    # ragkit conversations
    "List, export or delete the ratings of answers, newest first.\n\nA rating contains a copy"
    " of the question and the answer, which is deleted with the rating.": (
        "列出、导出或删除对回答的评价，最新的在前。\n\n评价中存有问题和回答的副本，会随评价一起"
        "删除。"
    ),
    "List only these ratings (default: both).": "只列出这一种评价（默认：两种都列）。",
    "List only answers from this collection.": "只列出根据这个文档集的回答。",
    "Maximum number of ratings to list.": "最多列出多少条评价。",
    "Print all ratings as items for `ragkit eval`, as JSON lines.": (
        "把全部评价输出为 `ragkit eval` 的评测数据，每行一个 JSON。"
    ),
    "Delete this rating (repeatable).": "删除这条评价，可多次给出。",
    "List your conversations, newest first.": "列出您的对话，最新的在前。",
    "Print the questions and answers of a conversation.": "显示一个对话的问题和回答。",
    "Id of the conversation, or its first characters.": "对话的编号，或编号开头的几个字符。",
    "Print Markdown with citations.": "以 Markdown 格式输出，含出处。",
    "Print JSON with citations.": "以 JSON 格式输出，含出处。",
    "Change the title of a conversation.": "修改对话的标题。",
    "New title.": "新标题。",
    "Delete conversations with everything in them.": "删除对话及其全部内容。",
    "Ids of the conversations, or their first characters.": "对话的编号，或编号开头的几个字符。",
    "Delete all your conversations.": "删除您的全部对话。",
    # ragkit jobs, worker
    "List jobs, newest first; each job reads one file.": (
        "列出任务，最新的在前；每个任务读取一个文件。"
    ),
    "Only jobs of this collection.": "只要这个文档集的任务。",
    "Only jobs in this state: queued, running, done, failed or cancelled.": (
        "只要这种状态的任务：queued（排队）、running（进行中）、done（完成）、failed（失败）"
        "、cancelled（取消）。"
    ),
    "Only jobs of this run.": "只要这次读取的任务。",
    "Maximum number of jobs to list.": "最多列出多少个任务。",
    "Only jobs with a lower number than this.": "只要编号比这个小的任务。",
    "Show the details of a job: its file, its state, when and where it ran, why it failed.": (
        "显示任务的详情：文件、状态、运行的时间和机器、失败的原因。"
    ),
    "Job number, as listed by `ragkit jobs list`.": "任务编号，见 `ragkit jobs list` 的列表。",
    "Queue failed and cancelled jobs again.\n\nThe next `ragkit ingest` of their files, or a"
    " running `ragkit worker`, picks them up. An uploaded file is deleted when it fails:"
    " upload it again.": (
        "让失败和取消的任务重新排队。\n\n下次对这些文件运行 `ragkit ingest`，或正在运行的"
        " `ragkit worker`，会处理它们。上传的文件失败后即被删除，请重新上传。"
    ),
    "Job numbers, as listed by `ragkit jobs list`.": "任务编号，见 `ragkit jobs list` 的列表。",
    "Retry all failed and cancelled jobs.": "重试全部失败和取消的任务。",
    "Cancel queued or running jobs; their results are not stored.": (
        "取消排队或进行中的任务；其结果不会保存。"
    ),
    "Report what a run did: size, passages and time of each file, and what was left out.": (
        "报告一次读取的情况：每个文件的大小、段落数、用时，以及略去的内容。"
    ),
    "Run number (default: the latest run).": "第几次读取（默认：最近一次）。",
    "Write the report as HTML to this file.": "把报告以 HTML 格式写入这个文件。",
    "Read uploaded files and files queued by `ragkit ingest --queue`, until it is stopped."
    "\n\nYou can run several workers at once, also on other machines that can read the same"
    " files. Ctrl-C or SIGTERM stops a worker within two seconds; unfinished files go back"
    " to the queue. With --until-empty, exit code 3 means that some files failed or are"
    " left to other workers.": (
        "读取上传的文件和用 `ragkit ingest --queue` 排队的文件，直到被停止。\n\n可以同时运行多"
        "个，也可以在能读到同样文件的其他机器上运行。按 Ctrl-C 或收到 SIGTERM 后两秒内停止；"
        "没读完的文件回到队列。使用 --until-empty 时，退出码 3 表示有文件失败，或留给了其他后"
        "台处理。"
    ),
    "Stop when the queue is empty.": "队列空了就停止。",
    # ragkit index
    "Show the vector index of a collection.": "显示文档集的向量索引。",
    "Rebuild the vector index, or change its kind.": "重建向量索引，或改变其种类。",
    "Compare the vector index with exact search, and tune it.": (
        "将向量索引与精确检索比较，并调整它。"
    ),
    "Move a collection to another embedding model, and back.": "为文档集更换向量模型，也可换回。",
    "Show the vector index of a collection's embedding model.\n\nCollections with the same"
    " model share the index, also across tenants; vectors of other tenants are not counted.": (
        "显示文档集所用向量模型的向量索引。\n\n使用同一模型的文档集共用索引，不同租户之间也是；"
        "其他租户的向量不计在内。"
    ),
    "Collection whose index to use.": "要看哪个文档集的索引。",
    "Rebuild the vector index of a collection's embedding model.\n\nSearches and writes"
    " continue meanwhile. Collections with the same model share the index.": (
        "重建文档集所用向量模型的向量索引。\n\n其间检索和写入照常进行。使用同一模型的文档集共用"
        "索引。"
    ),
    "Kind of index to build; the setting RAGKIT_VECTOR_INDEX applies to new collections.": (
        "要建的索引种类；设置项 RAGKIT_VECTOR_INDEX 只用于新文档集。"
    ),
    "Distance that the index uses.": "索引使用的距离。",
    "Vector type that the index stores.": "索引保存的向量类型。",
    "Compare the vector index with exact search on your passages, questions and filters.": (
        "用您自己的段落、问题和过滤条件，将向量索引与精确检索比较。"
    ),
    'File with one question a line, or JSON lines with "question" (default: stored passages).': (
        '每行一个问题的文件，或含 "question" 的 JSON 行（默认：用保存的段落）。'
    ),
    "Number of passages to find.": "要找多少个段落。",
    "Number of stored passages to search with.": "用多少个保存的段落去查找。",
    "Recall to reach, such as 0.98.": "要达到的召回率，例如 0.98。",
    "Save the search effort that --target needs.": "保存达到 --target 所需的检索力度。",
    "Move a collection to another embedding model: build, compare, switch, roll back, clean"
    " up.\n\nSearches and new documents use the old model until the switch. If the command is"
    " interrupted, run it again to continue.": (
        "为文档集更换向量模型：计算、比较、切换、换回、清理。\n\n切换之前，检索和新文档仍用旧模"
        "型。命令中断后，再次运行即可继续。"
    ),
    "Name or folder of the new model, or served:NAME.": (
        "新模型的名称或文件夹，或用 served:名称 指服务器上的模型。"
    ),
    "Collection to move.": "要更换模型的文档集。",
    "Number of leading dimensions to keep.": "只保留前多少维。",
    "Labelled questions for the comparison, as JSON lines.": (
        "用于比较的带标注问题，每行一个 JSON。"
    ),
    "Switch to the new model without asking.": "不再询问，直接切换到新模型。",
    "Switch back to the previous model.": "换回以前的模型。",
    "Delete the previous model's vectors, or those of --to MODEL.": (
        "删除以前模型的向量，或 --to 所指模型的向量。"
    ),
    "Show the stored vectors by model.": "显示各模型保存的向量。",
    # ragkit mcp, keys, db
    "Offer search and ask to other programs over standard input and output, or over HTTP.\n\n"
    "It acts for the tenant and principal of RAGKIT_KEY, or else for those in the settings.": (
        "通过标准输入输出或 HTTP 向其他程序提供检索和问答。\n\n以 RAGKIT_KEY 的租户和用户身份运"
        "行；没有则按设置。"
    ),
    "Serve over HTTP; every request needs an access key.": (
        "通过 HTTP 提供；每个请求都要有访问密钥。"
    ),
    "Create a key and print it. It is shown only once: ragkit stores only its hash.": (
        "创建密钥并显示。只显示这一次：ragkit 只保存它的哈希值。"
    ),
    "What the key is for, such as laptop.": "密钥的用途，例如 laptop。",
    "Tenant of the key (default: the setting RAGKIT_TENANT).": (
        "密钥所属的租户（默认：设置项 RAGKIT_TENANT）。"
    ),
    "User that the key acts for (default: the setting RAGKIT_PRINCIPAL).": (
        "密钥代表的用户（默认：设置项 RAGKIT_PRINCIPAL）。"
    ),
    "What the key may do: read, write, admin or metrics (repeatable; default: read).": (
        "密钥的权限：read（读）、write（写）、admin（管理）或 metrics（指标），可多次给出（默"
        "认：read）。"
    ),
    "Collection that the key may use (repeatable; default: all).": (
        "密钥可用的文档集，可多次给出（默认：全部）。"
    ),
    "Group whose documents the key may read (repeatable).": (
        "密钥可阅读哪个群组的文档，可多次给出。"
    ),
    "When the key expires, as days or a date (default: never).": (
        "密钥何时失效，写天数或日期（默认：永不）。"
    ),
    "List the keys of all tenants, what they may do and whether they are valid.": (
        "列出所有租户的密钥、其权限以及是否有效。"
    ),
    "Only keys of this tenant.": "只列出这个租户的密钥。",
    "Revoke a key at once.": "立即撤销密钥。",
    "Key number, as listed by `ragkit keys list`.": "密钥编号，见 `ragkit keys list` 的列表。",
    "Show the state of the database without starting it.": "显示数据库的状态，不启动它。",
    "Start the embedded database; it runs until `ragkit db stop`.": (
        "启动内置数据库；运行到 `ragkit db stop` 为止。"
    ),
    "Stop the embedded database and close its connections.": "停止内置数据库，并断开其连接。",
    "Bring the tables up to date and grant rights.\n\nPrograms run as the role in"
    " RAGKIT_DATABASE_URL, which is created if necessary; the role in"
    " RAGKIT_DATABASE_OWNER_URL owns the tables. With RAGKIT_TENANTS=on, row-level security"
    " is enabled. With --citus, the rows of each tenant are stored on one node of the cluster;"
    " the database must not be in use meanwhile.": (
        "更新数据表并授予权限。\n\n程序以 RAGKIT_DATABASE_URL 中的角色运行，没有则创建；数据表"
        "归 RAGKIT_DATABASE_OWNER_URL 中的角色所有。设置 RAGKIT_TENANTS=on 时启用行级安全。"
        "使用 --citus 时，每个租户的数据存放在集群的一个节点上；其间不得使用数据库。"
    ),
    "Distribute the tables over a Citus cluster.": "把数据表分布到 Citus 集群。",
    "Move a tenant to another node of a Citus cluster.\n\nIf other tenants share its shards, it"
    " gets shards of its own. With wal_level=logical on every node, the tenant can be read and"
    " written meanwhile.": (
        "把一个租户移到 Citus 集群的另一个节点。\n\n如果其他租户与它共用分片，它会先得到自己的"
        "分片。如果每个节点都设置了 wal_level=logical，移动期间仍可读写这个租户。"
    ),
    "Tenant to move.": "要移动的租户。",
    "Node of the cluster, as HOST:PORT.": "集群的节点，写成 HOST:PORT。",
    "Save the whole database, also while it is in use.\n\nThe backup includes row counts and"
    " search results, which `restore` compares.": (
        "备份整个数据库，使用中也可以。\n\n备份中含有行数和检索结果，供 `restore` 比对。"
    ),
    "Folder to create for the backup.": "为备份新建的文件夹。",
    "Restore a backup into an empty database, and check it.\n\nRows and search results must"
    " be the same as in the backup. If rows differ, the differences are listed and the"
    " database is emptied again; if only search results differ, the rows stay.": (
        "把备份恢复到空数据库，并检查。\n\n数据行和检索结果必须与备份一致。数据行不一致时会列出"
        "差别，并重新清空数据库；只有检索结果不一致时，数据行会保留。"
    ),
    "Folder that `ragkit db backup` created.": "`ragkit db backup` 生成的文件夹。",
    "Keep the restored rows even if they differ from the backup.": (
        "恢复的数据行与备份不一致时也保留。"
    ),
}
