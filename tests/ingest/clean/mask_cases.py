"""Texts with private data and texts with what only looks like it, written for these tests.

In POSITIVES what has to be masked stands as ⟦kind|value⟧. The numbers are published test numbers
(ISO and national standards' examples, card networks' and the IBAN registry's), or made up; check
digits of made-up identity numbers come from another program's arithmetic.
"""

import re
from typing import Final

MARK: Final = re.compile(r"⟦(\w+)\|([^⟧]*)⟧")

PEM: Final = """-----BEGIN RSA PRIVATE KEY-----
MIIEpAIBAAKCAQEAx3v1kq9WmQ0bq1ZkYp0c2m7s9dJfK1lq0m3n5p7r9t1v3x5z
Qw7eRt9yUi1oPa3sDf5gHj7kLz9xCv1bNm3QwErTyUiOpAsDfGhJkLzXcVbNm1Q2
w3E4r5==
-----END RSA PRIVATE KEY-----"""
OPENSSH: Final = """-----BEGIN OPENSSH PRIVATE KEY-----
b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW
QyNTUxOQAAACBq1w2e3r4t5y6u7i8o9p0a1s2d3f4g5h6j7k8l9z0x1wAAAJg=
-----END OPENSSH PRIVATE KEY-----"""
ENCRYPTED: Final = """-----BEGIN RSA PRIVATE KEY-----
Proc-Type: 4,ENCRYPTED
DEK-Info: AES-128-CBC,0123456789ABCDEF0123456789ABCDEF

q1w2e3r4t5y6u7i8o9p0a1s2d3f4g5h6j7k8l9z0x1c2v3b4n5m6Q1W2E3R4T5Y6
abcdEFGH
-----END RSA PRIVATE KEY-----"""
CUT_OFF: Final = """-----BEGIN EC PRIVATE KEY-----
MHcCAQEEIIrYSSNQFaA2Hwf1duRSxKtLYX5CB04fSeQ6tF1aY7PuoAoGCCqGSM49"""
PGP: Final = """-----BEGIN PGP PRIVATE KEY BLOCK-----
Version: GnuPG v2

lQOYBFzXq8kBCADH1v9n2m4b6v8c0x2z4l6k8j0h2g4f6d8s0a2p4o6i8u0y2t4r
6e8w0q2Q4W6E8R0T
=aBcD
-----END PGP PRIVATE KEY BLOCK-----"""
PUTTY: Final = """PuTTY-User-Key-File-2: ssh-rsa
Encryption: none
Comment: laptop
Public-Lines: 1
AAAAB3NzaC1yc2EAAAABJQAAAQEAhRk7
Private-Lines: 1
AAABAEA5m7n9p1r3t5v7x9z1b3d5f7h9
Private-MAC: 50c45751d18d74c00fca395deb7b7695e3ed6f77"""
IN_JSON: Final = (
    r"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n"
    r"VJTUt9Us8cKjMzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDu\n-----END PRIVATE KEY-----"
)

POSITIVES: Final = [
    # e-mail
    "Write to ⟦email|anna.schmidt@example.com⟧ today.",
    "请发邮件到⟦email|zhang.wei@example.com.cn⟧，谢谢。",
    "邮箱⟦email|li_na88@163.com⟧联系人李娜",
    "<⟦email|bob+invoices@mail.example.co.uk⟧>",
    "mailto:⟦email|o'brien@example.ie⟧?subject=x",
    "(⟦email|first-last@sub.domain.example.org⟧).",
    "｛⟦email|wang＠example．com⟧｝",
    "a@b;⟦email|x@example.io⟧,⟦email|y@example.io⟧",
    "Ann <⟦email|ANN@EXAMPLE.COM⟧>, Bob",
    "From: ⟦email|josé@exemple.fr⟧",
    "| name | ⟦email|k.o@example.museum⟧ |",
    "as pandoc writes it: ⟦email|ann\\_lee\\@example.com⟧, C:\\⟦email|bob@example.com⟧",
    "https://example.com/?to=⟦email|q@example.net⟧&x=1",
    # telephones: international
    "Ring ⟦phone|+1 212 555 0123⟧ or ⟦phone|+1 (415) 555-2671⟧.",
    "London ⟦phone|+44 20 7946 0958⟧",
    "Berlin ⟦phone|+49 (0)30 901820⟧, Paris ⟦phone|+33 1 70 18 99 00⟧",
    "whatsapp ⟦phone|+5511987654321⟧",
    "HK ⟦phone|+852 2345 6789⟧",
    "Singapore ⟦phone|+6561234567⟧",
    "dial ⟦phone|0049 30 901820 12⟧",
    "上海办事处⟦phone|+86-21-50504740⟧转人工",
    "境外请拨⟦phone|+86 138 1234 5678⟧",
    # telephones: China
    "手机13812345678不要写错".replace("13812345678", "⟦phone|13812345678⟧"),
    "张三⟦phone|139-1234-5678⟧",
    "李四 ⟦phone|186 1234 5678⟧",
    "电话：⟦phone|１３９１２３４５６７８⟧",
    "⟦phone|13800138000⟧/⟦phone|15912345678⟧",
    "联系⟦phone|8613912345678⟧",
    "座机⟦phone|010-62345678⟧",
    "总机（⟦phone|0755-26770000转801⟧）",
    "⟦phone|(021) 50504740⟧",
    "客服热线⟦phone|400-820-8820⟧",
    "热线⟦phone|4008208820⟧",
    "⟦phone|400-8888-123⟧全国统一",
    "传真：⟦phone|82345678⟧",
    "我的号码是⟦phone|19912345678⟧。",
    # telephones: national
    "Call ⟦phone|(555) 123-4567⟧ now",
    "office ⟦phone|212-555-0123⟧ ext",
    "⟦phone|212.555.0123⟧",
    "toll-free ⟦phone|1-800-555-0199⟧",
    "Tel: ⟦phone|8765 4321⟧",
    "phone no. ⟦phone|555-0123⟧",
    "Tél. ⟦phone|01 70 18 99 00⟧",
    "Ring ⟦phone|020 7946 0958⟧ after five",
    "mob ⟦phone|07700 900123⟧",
    "Fax ⟦phone|030 901820-14⟧",
    "| ⟦phone|212.555.0154x718⟧ | ⟦phone|001-813-555-0156⟧ |",
    "Moscow ⟦phone|+7 495 123-45-67⟧",
    # Chinese identity numbers
    "身份证⟦cn_id|11010519491231002X⟧",
    "身份证号码：⟦cn_id|440524188001010014⟧，",
    "张三⟦cn_id|110101199003077758⟧男",
    "ID ⟦cn_id|310115 19851102 133X⟧",
    "⟦cn_id|440306200102284028⟧",
    "证件⟦cn_id|510104197806150028⟧成都",
    "号码⟦cn_id|11010519491231002x⟧",
    "身份证号：⟦cn_id|１１０１０５１９４９１２３１００２Ｘ⟧",
    "旧身份证号130503670401001".replace("130503670401001", "⟦cn_id|130503670401001⟧"),
    # cards
    "Visa ⟦card|4111 1111 1111 1111⟧ exp 12/26",
    "card ⟦card|4111111111111111⟧.",
    "MC ⟦card|5555-5555-5555-4444⟧",
    "⟦card|2223003122003222⟧",
    "Amex ⟦card|378282246310005⟧ and ⟦card|3782 822463 10005⟧",
    "⟦card|6011111111111117⟧",
    "JCB ⟦card|3530111333300000⟧",
    "Diners ⟦card|30569309025904⟧",
    "银联卡⟦card|6200000000000005⟧已绑定",
    "卡号：⟦card|6205 5000 0000 0000 004⟧",
    "卡号⟦card|４１１１１１１１１１１１１１１１⟧",
    "⟦card|5105 1051 0510 5100⟧ 123",
    # IBAN
    "IBAN ⟦iban|GB29 NWBK 6016 1331 9268 19⟧",
    "⟦iban|DE89370400440532013000⟧",
    "账户⟦iban|FR1420041010050500013M02606⟧。",
    "⟦iban|NL91 ABNA 0417 1643 00⟧, please",
    "⟦iban|NO9386011117947⟧",
    "⟦iban|CH93-0076-2011-6238-5295-7⟧",
    "⟦iban|MT84MALT011000012345MTLCAST001S⟧",
    "iban: ⟦iban|es9121000418450200051332⟧",
    "⟦iban|SA0380000000608010167519⟧",
    # keys of programs
    "aws ⟦api_key|AKIAIOSFODNN7EXAMPLE⟧",
    "aws_secret_access_key = ⟦api_key|wJalrXUtnFEMI/K7MDENG/bPxRfiCYzz9q2w3e4r⟧",
    "git clone https://⟦api_key|ghp_16C7e42F292c6912E7710c838347Ae178B4a⟧@github.com/o/r",
    "⟦api_key|github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQ⟧",
    "OPENAI=⟦api_key|sk-proj-Ab12Cd34Ef56Gh78Ij90Kl12Mn34⟧",
    "⟦api_key|sk-ant-api03-Zx9Cv8Bn7Mm6Aa5Ss4Dd3⟧",
    "密钥⟦api_key|sk-0a1b2c3d4e5f60718293a4b5c6d7e8f9⟧，勿外传",
    "slack ⟦api_key|xoxb-123456789012-abcdefGHIJKL⟧",
    "key=⟦api_key|AIzaSyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q⟧",
    "stripe ⟦api_key|sk_live_4eC39HqLyjWDarjtT1zdp7dc⟧",
    "⟦api_key|hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345⟧",
    "⟦api_key|eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P⟧",
    "Authorization: Bearer ⟦api_key|mF_9.B5f-4.1JqM7a8s9d0f1g2h3⟧",
    'api_key: "⟦api_key|9f8e7d6c5b4a39281706f5e4d3c2b1a0⟧"',
    "postgresql://app:⟦api_key|s3cr3t!pw⟧@db.example.com/x",
    "bot 123456789:⟦api_key|AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1⟧",
    "glpat: ⟦api_key|glpat-x1Y2z3A4b5C6d7E8f9G0⟧",
    # private keys
    f"before\n⟦private_key|{PEM}⟧\nafter",
    f"⟦private_key|{OPENSSH}⟧",
    f"x\n\n⟦private_key|{ENCRYPTED}⟧\n\ny",
    f"⟦private_key|{CUT_OFF}⟧\n\nThe rest of the page is about something else.",
    f"⟦private_key|{PGP}⟧",
    f"⟦private_key|{PUTTY}⟧\nnext",
    f'{{"private_key": "⟦private_key|{IN_JSON}⟧", "type": "x"}}',
    f"私钥：⟦private_key|{PEM}⟧请保管",
    "⟦private_key|AGE-SECRET-KEY-1" + "QYP2DC3R" * 7 + "QZ⟧",
    "PrivateKey = ⟦private_key|yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=⟧",
]

NEGATIVES: Final = [
    # e-mail
    "@app.route('/')",
    "git clone git@github.com:acme/tool.git",
    "npm install react@18.2.0-rc.next",
    "icon@2x.png and photo@home.jpg",
    "follow @example or user@localhost",
    "root@10.0.0.1 and foo@bar",
    "a @ b, 3@4, x@y@z",
    "price: 5 @ 3.50 each",
    "matrix A@B.T in numpy",
    "微信号 @张三",
    "pip install pkg@git+https",
    "$user@$host.$domain",
    # dates, times, versions, addresses of machines
    "2024-01-31 12:30:45 and 2024/02/28",
    "20240131123045 20240131",
    "timestamp 1706704245, 1706704245123 ms",
    "v1.2.3-rc.4, 10.15.7, 2023.11.1",
    "192.168.100.200:8080, 255.255.255.255",
    "fe80::1ff:fe23:4567:890a and 2001:db8::8a2e:370:7334",
    "00:1B:44:11:3A:B7",
    "550e8400-e29b-41d4-a716-446655440000",
    "123e4567-e89b-12d3-a456-426614174000",
    "12345678-1234-1234-1234-123456789012",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "sha256 53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "1990-2020, 1914–1918, 9:30-17:00",
    "Call 2023-10-01 a turning point",
    "电话2024-01-31开通",
    "2024年1月31日12时30分",
    # numbers of things
    "Order 123-4567890-1234567",
    "order no. 13812345678",
    "订单号：13812345678",
    "运单号15912345678已发出",
    "invoice INV-2024-000123",
    "发票代码：044001900111，发票号码：12345678",
    "Ticket #4008208820",
    "ISBN 978-3-16-148410-0",
    "ISBN 0-306-40615-2 and 9783161484100",
    "ISSN 2049-3630",
    "doi:10.1000/182, 10.1038/s41586-020-2649-2",
    "PMID 32939066 arXiv:1706.03762",
    "EAN 4006381333931",
    "IMEI 490154203237518",
    "VIN 1HGCM82633A004352",
    "UPC 036000291452",
    "patent US 10,123,456 B2",
    "tracking 1Z999AA10123456784",
    "part no. 555-123-4567",
    "SN13812345678",
    "A13812345678B",
    "13812345678901",
    "0.13812345678 and 13812345678.5",
    "项目编号13912345678",
    "统一社会信用代码91350211M000100Y43",
    "邮编100080，区号010",
    "第13912345678号文件编号",
    "纳税人识别号 110108123456789",
    # money and figures
    "¥13812345678 and $4,111,111,111",
    "共13812345678元",
    "1,234,567.89 and 1 234 567,89",
    "+12345678 and -12345678",
    "+12 345 678 people",
    "a rise of +1.234567890",
    "x+1234567890 = y",
    "3.14159265358979 and 2.718281828459045",
    "6.02214076e23, 299792458 m/s",
    "mobile 2000000 users",
    "the call 1234567 times",
    "iPhone 13 2021, Windows 95",
    "layers 256 512 1024",
    "200 300 4000 and 1 2 3 4 5 6 7 8 9 10",
    "12 34 56 78 90",
    "population 1400000000",
    "100 000 000 000",
    "GDP 12345678901 USD",
    "共有13900000000人次".replace("人次", "次"),
    "J Immunol 1989 143 3043 3048 2478632",
    "Genet 2003 4 121 132 12560809",
    "'+1980-02-29 01:02:03'",
    "+17 211197 and +1 200 000",
    "4220315081820346526",
    # chemistry, mathematics, code
    "CAS 7732-18-5, 50-00-0, 1310-73-2",
    "EC 231-791-2",
    "C6H12O6 H2SO4",
    "f(x) = 3x^2 + 12345678x",
    "for (i = 0; i < 1000000000; i++)",
    "0x1F600 0xdeadbeef 0b1010101",
    "const MAX = 9007199254740991;",
    "int a[] = {1, 22, 333, 4444, 55555};",
    "chr1:123456789-123456999",
    "#ff00aa11 rgba(123,123,123,0.5)",
    "lat 39.9042, lon 116.4074",
    "39.904211,116.407394",
    "SSN-like 12-3456789",
    # Chinese identity numbers
    "11010519491231002Y",
    "110105194912310021",
    "110105194913310020",
    "999999999999999999",
    "130503670401001",
    "123456789012345678",
    "110101190002300012",
    # cards
    "4111 1111 1111 1112",
    "4111111111111112",
    "1234567812345678",
    "0000 0000 0000 0000",
    "9999-9999-9999-9995",
    "4012 8888 8888 1881 2222 3333",
    "order number 4111111111111111",
    "1234 5678 9012 3456",
    "2024 2025 2026 2027",
    "41111111111111111111111111",
    "0.4111111111111111",
    # IBAN
    "GB29 NWBK 6016 1331 9268 18",
    "DE89370400440532013001",
    "XX89370400440532013000",
    "DE8937040044053201300",
    "AB12 CD34 EF56 GH78",
    "US64SVBKUS6S3300958879",
    "GB12 is a postcode area? SW1A 1AA",
    "articleDE89370400440532013000",
    "1GB29 NWBK 6016 1331 9268 19",
    # keys of programs
    "sk-loading-spinner-container-large-blue",
    "sk-learn and sk-estimator-doc-link",
    "AKIA is a prefix; AKIA1234 is too short",
    "hf_hub_download, hf_transfer_enabled_by_default_in_this_environment",
    "eyJ is how they begin",
    "api_key = YOUR_API_KEY_GOES_HERE_123",
    "api_key = os.environ['SERVICE_API_KEY_2024_PROD']",
    "secret_key: <your-secret-key-here-0123456789>",
    "password = get_password()",
    "token: the_quick_brown_fox_jumps_over",
    "access_token=xxxxxxxxxxxxxxxxxxxxxxxx1234",
    "AccessibilityTokenProviderFactoryBean2",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4",
    "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC7vbqajDhA",
    "https://user@example/path, http://host:8080/a@b",
    "postgresql://app:<password>@db/x",
    "/usr/lib/python3.11/site-packages/numpy/core/_multiarray_umath.cpython-311.so",
    "https://example.com/a/very/long/path/with-1234567/and_more.html?id=42",
    # private keys
    "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBa\n"
    "-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAK\n-----END PUBLIC KEY-----",
    "A file that begins with -----BEGIN PRIVATE KEY----- must never be sent.",
    '"-----BEGIN RSA PRIVATE KEY-----" and "-----END RSA PRIVATE KEY-----" are its lines',
    "PuTTY writes keys of its own; see PuTTYgen",
    "PRIVATE KEY",
    "PrivateKey = None",
]
